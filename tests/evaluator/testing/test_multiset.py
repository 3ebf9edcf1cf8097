"""Matching lists in any order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evaluator.testing.multiset import MAX_INEXACT, Unmatched, match


def near(one: Any, other: Any) -> bool:
    return bool(abs(one - other) <= 2)


@given(st.lists(st.integers(0, 4), max_size=5), st.data())
def test_finds_a_matching_exactly_when_there_is_one(expected: list[int], data: st.DataObject) -> None:
    size = len(expected)
    # Odd against even numbers: no element has an identical twin, so that every pair is found by the search.
    left = [2 * number for number in expected]
    right = [2 * number + 1 for number in data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))]
    possible = any(all(map(near, left, order)) for order in permutations(right))
    assert (match(list(left), list(right), equal=near) is None) is possible


def test_moves_an_earlier_partner_where_that_helps() -> None:
    # 2 takes 1 first, which is the only one near 0.
    assert match([2, 0], [1, 4], equal=near) is None


def test_names_what_has_no_partner() -> None:
    assert match([1, 50, 60], [50, 2, 90], equal=near) == Unmatched((60,), may_be_more=False)


def test_stops_naming_after_five() -> None:
    found = match(list(range(0, 100, 10)), [1000 + n for n in range(10)], equal=near)
    assert found == Unmatched((0, 10, 20, 30, 40), may_be_more=True)


def test_twins_that_are_not_equal_do_not_match() -> None:
    assert match([1], [1], equal=lambda *_: False) == Unmatched((1,), may_be_more=False)


def test_too_many_inexact_elements_are_not_searched() -> None:
    many = [10 * number for number in range(MAX_INEXACT + 1)]
    moved = [number + 1 for number in many]
    found = match(list(many), list(moved), equal=near)
    assert found is not None
    assert found.may_be_more
    assert match(list(many[:-1]), list(moved[:-1]), equal=near) is None
