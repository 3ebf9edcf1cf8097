"""The leaderboard's closed vocabularies."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

FINAL: Final = "final"
"""Beside the raters' labels: the label that counts in the end, of each answer with its source."""


class RaterAxis(StrEnum):
    """The three raters, which are never mixed."""

    TESTS = "tests"
    JUDGE = "judge"
    HUMAN = "human"

    @property
    def remark_prefix(self) -> str:
        """How a remark about this rater begins, so that pages can put it beside the right column."""
        return {RaterAxis.TESTS: "Unit tests: ", RaterAxis.JUDGE: "Judge: ", RaterAxis.HUMAN: "Humans: "}[self]
