"""Enumerations of the leaderboard."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from django.db.models import TextChoices

FINAL: Final = "final"
"""In addition to the raters' labels: each answer's final label, with its source."""


class RaterAxis(StrEnum):
    """The three raters, whose results are never mixed."""

    TESTS = "tests"
    JUDGE = "judge"
    HUMAN = "human"

    @property
    def remark_prefix(self) -> str:
        """The beginning of a remark about this rater, by which pages put it beside the right column."""
        return {RaterAxis.TESTS: "Unit tests: ", RaterAxis.JUDGE: "Judge: ", RaterAxis.HUMAN: "Humans: "}[self]


class NoticeKind(TextChoices):
    """The occasion of a notice; the labels are those of the settings."""

    SCORED = "scored", "a submission of yours was scored"
    HELD = "held", "a submission of yours is held"
    PAUSED = "paused", "a run of yours has paused"
    HIDDEN = "hidden", "a submission of yours was hidden"
    UNHIDDEN = "unhidden", "a submission of yours is no longer hidden"
    JUDGED = "judged", "the judges have labelled a submission of yours"
    APPEAL = "appeal", "an appeal of yours was decided"
    REVIEW = "review", "answers wait for your label"
