"""Draws that come out the same whenever they are asked again."""

from __future__ import annotations

from typing import Any

from reviews.cases.sampling import drawn

ROWS = range(1, 4001)


def taken(purpose: str, share: float) -> set[int]:
    return {pk for pk in ROWS if drawn(purpose, pk, share)}


def test_draws_keep_their_share_repeat_and_are_independent(settings: Any) -> None:
    settings.SECRET_KEY = "a-key-for-drawing"
    first, half = taken("audit", 0.1), taken("audit", 0.5)
    # 400 expected, standard deviation 19; 1000 for both purposes, standard deviation 27.
    assert 340 < len(first) < 460
    assert 900 < len(half & taken("repeat", 0.5)) < 1100
    assert taken("audit", 0.1) == first < half
    assert (taken("audit", 0.0), taken("audit", 1.0)) == (set(), set(ROWS))
    settings.SECRET_KEY = "another-key"
    assert taken("audit", 0.1) != first
