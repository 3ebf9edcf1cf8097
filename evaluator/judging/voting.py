"""From votes to a label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from evaluator.judging.labels import Label


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
