"""The three labels that judges and people give."""

from __future__ import annotations

from enum import StrEnum


class Label(StrEnum):
    """What a rater says of an answer: completely correct, logically correct, logically incorrect."""

    CC = "CC"
    LC = "LC"
    LI = "LI"

    @property
    def meaning(self) -> str:
        """The label in words (paper, section 4)."""
        return {
            Label.CC: "completely correct",
            Label.LC: "logically correct",
            Label.LI: "logically incorrect",
        }[self]
