"""Front and records, against their definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.statistics.records import pareto_front, records

SMALL = st.integers(0, 6).map(float)


@given(st.lists(st.tuples(SMALL, SMALL), max_size=12))
def test_no_point_beats_one_on_the_front(points: list[tuple[float, float]]) -> None:
    def beaten(place: int) -> bool:
        cost, score = points[place]
        return any(c <= cost and s >= score and (c, s) != (cost, score) for c, s in points)

    assert pareto_front(points) == {place for place in range(len(points)) if not beaten(place)}


@given(st.lists(st.floats(0, 100), max_size=12))
def test_records_are_the_running_maximum(scores: list[float]) -> None:
    assert records(scores) == (np.maximum.accumulate(scores).tolist() if scores else [])
