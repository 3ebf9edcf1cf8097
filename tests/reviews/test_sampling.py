"""Draws that come out the same whenever they are asked again."""

from __future__ import annotations

from typing import Any

import pytest

from reviews.cases.sampling import drawn

ROWS = range(1, 4001)


@pytest.fixture(autouse=True)
def known_key(settings: Any) -> None:
    """The draw depends on the site's key, so that tests need one that does not change."""
    settings.SECRET_KEY = "a-key-for-drawing"


def taken(purpose: str, share: float) -> set[int]:
    return {pk for pk in ROWS if drawn(purpose, pk, share)}


def test_the_share_is_kept_and_the_draw_repeats() -> None:
    first = taken("audit", 0.1)
    # 400 expected, standard deviation 19.
    assert 340 < len(first) < 460
    assert taken("audit", 0.1) == first


def test_none_and_all() -> None:
    assert (taken("audit", 0.0), taken("audit", 1.0)) == (set(), set(ROWS))


def test_a_larger_share_includes_the_smaller_one() -> None:
    assert taken("audit", 0.1) < taken("audit", 0.2)


def test_purposes_are_drawn_independently() -> None:
    both = taken("audit", 0.5) & taken("repeat", 0.5)
    # 1000 expected, standard deviation 27.
    assert 900 < len(both) < 1100


def test_another_site_draws_others(settings: Any) -> None:
    first = taken("audit", 0.1)
    settings.SECRET_KEY = "another-key"
    assert taken("audit", 0.1) != first
