"""The leaderboard's closed vocabularies."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from django.db.models import TextChoices

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


class NoticeKind(TextChoices):
    """What a notice is about, in the words of its setting."""

    SCORED = "scored", "a submission of yours was scored"
    HELD = "held", "a submission of yours is held"
    PAUSED = "paused", "a run of yours has paused"
    HIDDEN = "hidden", "a submission of yours was hidden"
    UNHIDDEN = "unhidden", "a submission of yours is no longer hidden"
    JUDGED = "judged", "the judges have labelled a submission of yours"
    APPEAL = "appeal", "an appeal of yours was decided"
    REVIEW = "review", "answers wait for your label"
