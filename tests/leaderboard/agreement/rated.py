"""Tables of counts, as published examples print them, turned into what raters say of items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaderboard.agreement.types import LABELS, Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

UPSTREAM = ((72, 3, 2), (24, 10, 5), (14, 15, 23))
"""The 168 answers that humans (rows) and upstream's judge (columns) both label: LI, LC, CC."""


def pairs_of(
    matrix: Sequence[Sequence[int]], *, labels: Sequence[str] = LABELS, clusters: int | None = None
) -> list[Pair]:
    """One pair per counted item, dealt to so many papers in turn; without a number each item is its own paper."""
    cells = [
        (first, second)
        for first, row in zip(labels, matrix, strict=True)
        for second, count in zip(labels, row, strict=True)
        for _ in range(count)
    ]
    return [
        Pair(f"item {number}", f"paper {number if clusters is None else number % clusters}", first, second)
        for number, (first, second) in enumerate(cells)
    ]


def ratings_of_rows(rows: Sequence[str]) -> dict[str, dict[str, str]]:
    """One row per rater, one character per item; ``*`` where the rater gives no label."""
    return {
        f"rater {number}": {f"item {place:02}": label for place, label in enumerate(row) if label != "*"}
        for number, row in enumerate(rows)
    }


def ratings_of_counts(rows: Sequence[Sequence[int]], labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """One row per item: how many raters give it each label. Which rater gives which is made up: Fleiss ignores it."""
    ratings: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows):
        given = [label for label, count in zip(labels, row, strict=True) for _ in range(count)]
        for rater, label in enumerate(given):
            ratings.setdefault(f"rater {rater}", {})[f"item {number:02}"] = label
    return ratings
