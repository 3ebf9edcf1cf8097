"""The three labels that judges and annotators give, and how votes make one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum


class Label(StrEnum):
    """What a rater says of an answer: completely correct, logically correct, logically incorrect.

    This is the order in which every table and form has them.
    """

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


def majority(labels: Sequence[Label | None]) -> Label | None:
    """The label of more than half of all votes; ``None`` stands for an abstention, which is counted as a vote."""
    given = Counter(label for label in labels if label is not None)
    if not given:
        return None
    label, count = given.most_common(1)[0]
    return label if 2 * count > len(labels) else None


def is_split(labels: Sequence[Label | None]) -> bool:
    """Whether the votes do not all say the same. An abstention beside labels splits them; abstentions alone do not."""
    return len(set(labels)) > 1
