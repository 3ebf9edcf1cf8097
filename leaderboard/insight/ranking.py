"""Rank some rows of a board among themselves, as a filter or a later month selects them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leaderboard.board.matrix import results_on
from leaderboard.board.row import LEAST_TASKS
from leaderboard.statistics.paired import rank_bands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.board.matrix import MatrixTask
    from leaderboard.board.row import BoardRow
    from leaderboard.statistics.coefficients import Array


def ranked_among(rows: Sequence[BoardRow], tasks: Sequence[MatrixTask]) -> list[BoardRow]:
    """Return ``rows`` with their rank bands among themselves; without ranks if fewer than six tasks have results."""
    bands: Sequence[tuple[int, int] | None] = [None] * len(rows)
    known = scores(rows, tasks)
    if int((~np.isnan(known)).any(axis=0).sum()) >= LEAST_TASKS:
        papers = np.unique([task.paper for task in tasks], return_inverse=True)[1].tolist()
        bands = rank_bands(known, papers)
    return [
        row.model_copy(update={"rank": band, "stamp": row.stamp and f"{row.stamp} {band}"})
        for row, band in zip(rows, bands, strict=True)
    ]


def scores(rows: Sequence[BoardRow], tasks: Sequence[MatrixTask]) -> Array:
    """Return (rows, tasks): the share of trials that pass; nan if unknown, and for rows that have no pass rate."""
    shares = [[results_on(row, task)[0] if row.tests else None for task in tasks] for row in rows]
    known = [[np.nan if share is None else share for share in line] for line in shares]
    return np.array(known, dtype=np.float64).reshape(len(rows), len(tasks))
