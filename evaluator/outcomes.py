"""The outcomes of a test run. No Django here."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Self


class Outcome(StrEnum):
    """Outcome of a test run, with its wording. Infrastructure errors are not outcomes: the run is retried.

    ``TEST_LACKS``: the answer called something that the test's stand-in for a package does not have. This says nothing
    about the answer, so a person decides; until then it counts as not passed, because an answer could also raise the
    stand-in's error itself.
    """

    words: str

    PASSED = "passed", "passed"
    WRONG_OUTPUT = "wrong_output", "wrong output"
    RAISED = "raised", "raised an error"
    TEST_LACKS = "test_lacks", "used what the test lacks"
    TIMEOUT = "timeout", "timed out"
    OUT_OF_MEMORY = "out_of_memory", "out of memory"
    OUTPUT_LIMIT = "output_limit", "too much output"
    BAD_PATCH = "bad_patch", "answer does not apply"
    NOT_ATTEMPTED = "not_attempted", "not attempted"
    TAMPERING = "tampering", "tampering"

    def __new__(cls, value: str, words: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.words = words
        return member


WITHOUT_TEST: Final = frozenset({Outcome.NOT_ATTEMPTED, Outcome.BAD_PATCH})
"""Outcomes that are decided without running anything."""
