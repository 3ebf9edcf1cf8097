"""Show rows to a viewer who is labelling an answer of some of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leaderboard.models.board import Marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from leaderboard.board.board import BoardRow


def without_numbers(rows: Iterable[BoardRow], hidden: Collection[int]) -> list[BoardRow]:
    """Return the rows for a viewer from whom the submissions ``hidden`` are hidden: of these the names and no number.

    No row has a rank then, since the ranks of the others show how these did.
    """
    if not hidden:
        return list(rows)
    nothing: dict[str, Any] = {"tests": None, "judge": None, "human": None, "final": None, "cost": None, "tokens": None}
    unranked = (replace(row, rank=None, stamp=row.stamp and f"{row.stamp} unranked") for row in rows)
    return [
        replace(row, **nothing, trial_passes=(), marks=Marks(), closed=True) if row.submission in hidden else row
        for row in unranked
    ]
