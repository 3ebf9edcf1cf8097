"""The three labels that judges and annotators give, and how votes are combined into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum


class Label(StrEnum):
    """A rater's label of an answer: completely correct, logically correct, logically incorrect.

    Every table and form uses this order.
    """

    CC = "CC"
    LC = "LC"
    LI = "LI"

    @property
    def meaning(self) -> str:
        """The label's meaning (paper, section 4)."""
        return {
            Label.CC: "completely correct",
            Label.LC: "logically correct",
            Label.LI: "logically incorrect",
        }[self]

    @property
    def plain(self) -> str:
        """The label's meaning as pages show it beside the label."""
        return {Label.CC: "correct", Label.LC: "right idea, wrong detail", Label.LI: "wrong"}[self]


def majority(labels: Sequence[Label | None]) -> Label | None:
    """Return the label of more than half of all votes. ``None`` in ``labels`` is an abstention and counts as a vote."""
    given = Counter(label for label in labels if label is not None)
    if not given:
        return None
    label, count = given.most_common(1)[0]
    return label if 2 * count > len(labels) else None


def is_split(labels: Sequence[Label | None]) -> bool:
    """Return whether the votes differ. An abstention beside labels splits them; abstentions alone do not."""
    return len(set(labels)) > 1
