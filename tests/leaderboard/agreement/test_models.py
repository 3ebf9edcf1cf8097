"""Two systems on the same tasks."""

from __future__ import annotations

from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats import contingency_tables
from statsmodels.stats.multitest import multipletests

from leaderboard.agreement.models import compare_systems, holm, mcnemar, pass_rate
from leaderboard.agreement.types import Coefficient, SystemComparison

TASKS = [f"task {number:02}" for number in range(28)]


def passing(count: int) -> dict[str, bool]:
    return {task: place < count for place, task in enumerate(TASKS)}


@pytest.mark.parametrize(("split", "p"), [((5, 0), 0.0625), ((6, 0), 0.03125), ((8, 1), 0.0391), ((0, 0), 1.0)])
def test_exact_mcnemar(split: tuple[int, int], p: float) -> None:
    """Six tasks to none is the least that separates two systems."""
    assert mcnemar(*split) == pytest.approx(p, abs=5e-5)
    assert mcnemar(*reversed(split)) == mcnemar(*split)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_what_statsmodels_computes(first: int, second: int) -> None:
    theirs = contingency_tables.mcnemar([[0, first], [second, 0]], exact=True).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(theirs, rel=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_what_statsmodels_computes(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("first", "second", "power"), [(0.35, 0.05, 0.67), (0.20, 0.05, 0.21)])
def test_how_often_28_tasks_separate_two_systems(first: float, second: float, power: float) -> None:
    """Why pages say "not separable", never "equal": chance of p < .05 at these shares of tasks one alone passes."""
    found = sum(
        factorial(28)
        / (factorial(b) * factorial(c) * factorial(28 - b - c))
        * first**b
        * second**c
        * (1 - first - second) ** (28 - b - c)
        for b in range(29)
        for c in range(29 - b)
        if mcnemar(b, c) < 0.05
    )
    assert found == pytest.approx(power, abs=0.005)


def test_holm_multiplies_the_smallest_most() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []


@pytest.mark.parametrize(
    ("k", "n", "low", "high"), [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (10, 28, 0.2071, 0.5417)]
)
def test_pass_rate_has_wilsons_interval(k: int, n: int, low: float, high: float) -> None:
    found = pass_rate({str(task): task < k for task in range(n)})
    assert found.value == k / n
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=5e-5)


def test_pass_rate_of_nothing() -> None:
    assert pass_rate({}) == Coefficient(None, None, "undefined: no task was run")


def test_every_pair_is_compared_and_adjusted_together() -> None:
    """A system that passes everything breaks logistic models; here it is one like another."""
    found = compare_systems({"c": passing(20), "all": passing(28), "b": passing(22)})
    assert [(row.first, row.second) for row in found] == [("all", "b"), ("all", "c"), ("b", "c")]
    assert found[1] == SystemComparison("all", "c", 20, 8, 0, 0, p=2 / 2**8, adjusted_p=3 * 2 / 2**8)
    assert (found[0].p, found[0].adjusted_p) == (0.03125, 0.0625)
    assert [row.verdict for row in found] == ["not separable", "all passes more", "not separable"]


def test_the_better_system_is_named_whichever_comes_first() -> None:
    assert compare_systems({"a": passing(2), "b": passing(20)})[0].verdict == "b passes more"


def test_only_tasks_that_both_ran_count() -> None:
    first = {"x": True, "y": True, "only here": True}
    second = {"x": True, "y": False, "only there": True}
    row = compare_systems({"a": first, "b": second})[0]
    assert (row.both, row.only_first, row.only_second, row.neither) == (1, 1, 0, 0)


def test_is_plain_data_with_its_verdict() -> None:
    data = compare_systems({"a": passing(2), "b": passing(2)})[0].as_data()
    assert (data["both"], data["p"], data["verdict"]) == (2, 1.0, "not separable")


def test_one_system_has_nobody_to_be_compared_with() -> None:
    assert compare_systems({"a": passing(3)}) == []
