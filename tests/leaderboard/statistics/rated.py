"""Convert tables of counts, as published examples print them, to raters' labels of items."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaderboard.statistics.results import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

UPSTREAM = ((23, 15, 14), (5, 10, 24), (2, 3, 72))
"""The 168 answers that upstream's annotators (rows) and judge (columns) both label: CC, LC, LI."""


@dataclass(frozen=True)
class Pair:
    """The labels that two raters gave one item of a paper."""

    item: str
    paper: str
    first: str
    second: str


def counted(pairs: Iterable[Pair]) -> Counter[tuple[str, str, str]]:
    """Count pairs as the database does: by paper and both labels."""
    return Counter((pair.paper, pair.first, pair.second) for pair in pairs)


def pairs_of(
    matrix: Sequence[Sequence[int]], *, labels: Sequence[str] = LABELS, papers: int | None = None
) -> list[Pair]:
    """One pair per counted item, assigned to ``papers`` papers in turn; by default, each item has its own paper."""
    cells = [
        (first, second)
        for first, row in zip(labels, matrix, strict=True)
        for second, count in zip(labels, row, strict=True)
        for _ in range(count)
    ]
    return [
        Pair(f"item {number}", f"paper {number if papers is None else number % papers}", first, second)
        for number, (first, second) in enumerate(cells)
    ]


def ratings_of_rows(rows: Sequence[str]) -> dict[str, dict[str, str]]:
    """One row per rater, one character per item; ``*`` where the rater gives no label."""
    return {
        f"rater {number}": {f"item {place:02}": label for place, label in enumerate(row) if label != "*"}
        for number, row in enumerate(rows)
    }


def counted_items(
    ratings: Mapping[str, Mapping[str, str]], labels: Sequence[str], papers: Mapping[str, str] | None = None
) -> Counter[tuple[str, tuple[int, ...]]]:
    """Items as the database counts them: by paper and by how many raters gave each label.

    Without ``papers`` each item is a paper of its own.
    """
    items = sorted({item for rated in ratings.values() for item in rated})
    given = {item: [rated[item] for rated in ratings.values() if item in rated] for item in items}
    return Counter(
        (papers[item] if papers else item, tuple(given[item].count(label) for label in labels)) for item in items
    )
