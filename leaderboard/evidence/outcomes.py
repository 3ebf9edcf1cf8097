"""Describe in a sentence how an answer did in its unit tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evaluator.enums import RunState
from evaluator.outcomes import Outcome
from evaluator.testing.shown_outcomes import case_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluator.models import TestRun
    from evaluator.testing.shown_outcomes import Badge, CaseRow, PrivateCases

SENTENCES: Final[Mapping[Outcome, str]] = {
    Outcome.PASSED: "The answer passes its unit tests.",
    Outcome.WRONG_OUTPUT: "The answer fails its unit tests: its output is wrong.",
    Outcome.RAISED: "The answer fails its unit tests: it raises an error.",
    Outcome.TEST_LACKS: "The answer uses something that its test lacks. It does not count as passed.",
    Outcome.TIMEOUT: "The answer fails its unit tests: it takes too long.",
    Outcome.OUT_OF_MEMORY: "The answer fails its unit tests: it runs out of memory.",
    Outcome.OUTPUT_LIMIT: "The answer fails its unit tests: it writes too much output.",
    Outcome.BAD_PATCH: "The answer does not apply to the masked repository, so no test was run.",
    Outcome.NOT_ATTEMPTED: "The system gave no answer to this task.",
    Outcome.TAMPERING: "The answer interferes with its test. It counts as failed.",
}
_UNFINISHED: Final = frozenset({"waiting", "running", "held"})


def outcome_sentence(run: TestRun | None, badge: Badge) -> str:
    """Return the outcome of ``run`` in a sentence; ``badge`` is how it is shown."""
    outcome = Outcome(run.outcome) if run and run.state == RunState.DONE else None
    if outcome is None and badge.text in _UNFINISHED:
        return f"No result yet: {badge.text}."
    if outcome is None or badge.text != outcome.words:
        return f"{badge.text[:1].upper()}{badge.text[1:]}."
    counts = " It counts as failed." if outcome == Outcome.NOT_ATTEMPTED and badge.css == "failed" else ""
    return f"{SENTENCES[outcome]}{counts}"


@dataclass(frozen=True, slots=True)
class ShownRun:
    """How an answer did in its unit tests: in a sentence, and in public test cases; of private ones only how many pass.

    ``names_tests``: these are upstream's tests, which have names and no seeds.
    """

    run: TestRun | None
    badge: Badge
    sentence: str
    failing: tuple[CaseRow, ...]
    passing: tuple[CaseRow, ...]
    private: PrivateCases

    @property
    def names_tests(self) -> bool:
        """Whether the test cases have names."""
        return any(case.name for case in (*self.failing, *self.passing))

    @property
    def reason(self) -> str:
        """Why the answer did not pass, unless a failing public test case shows it."""
        return self.run.reason if self.run and self.badge.css != "passed" and not self.failing else ""

    @property
    def passing_words(self) -> str:
        """How many test cases pass: ``12 of 12 public, 18 of 18 private test cases pass``; empty without any."""
        public, private = len(self.failing) + len(self.passing), self.private
        counts = [f"{len(self.passing)} of {public} public"] if public else []
        counts += [f"{private.passed} of {private.total} private"] if private.total else []
        return f"{', '.join(counts)} test cases pass" if counts else ""


def shown_run(run: TestRun | None, badge: Badge) -> ShownRun:
    """Return what pages show of ``run``; ``badge`` is how its outcome is shown."""
    public, private = case_rows(run)
    failing = tuple(case for case in public if case.badge.css != "passed")
    passing = tuple(case for case in public if case.badge.css == "passed")
    return ShownRun(run, badge, outcome_sentence(run, badge), failing, passing, private)
