"""How numbers are computed and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom  # type: ignore[attr-defined]  # made when it is imported
from statsmodels.stats.proportion import proportion_confint

from leaderboard.board.row import LabelsCell, TestsCell
from leaderboard.statistics.intervals import mean_pass_at_k, pass_at_k, wilson
from leaderboard.templatetags import board_tags
from leaderboard.templatetags.audit_tags import share, tiny


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(10, 28, 0.2071, 0.5417), (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 9, 0.0, 0.2991)],
)
def test_wilson_has_its_reference_values(k: int, n: int, low: float, high: float) -> None:
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.floats(0, n), st.just(n))))
def test_wilson_is_what_statsmodels_computes(case: tuple[float, int]) -> None:
    k, n = case
    assert wilson(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(1, 0), (-1, 3), (4, 3)])
def test_invalid_proportions_are_refused(k: float, n: int) -> None:
    with pytest.raises(ValueError, match=f"k={k} and n={n}"):
        wilson(k, n)


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        (1, 0, 1, 0.0),
        (1, 1, 1, 1.0),
        (10, 3, 1, 0.3),
        (10, 3, 5, 1 - 21 / 252),
        (5, 1, 3, 0.6),
        (10, 8, 3, 1.0),
        (200, 13, 100, 0.9999203),
    ],
)
def test_pass_at_k_has_its_reference_values(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(expected, abs=2e-5)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_scipys_probability_of_drawing_a_pass(case: tuple[int, int, int]) -> None:
    """``k`` of ``n`` trials are drawn without replacement; ``c`` of the trials pass."""
    n, c, k = case
    assert pass_at_k(n, c, k) == pytest.approx(hypergeom.sf(0, n, c, k), abs=1e-9)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4), (0, 0, 1)])
def test_what_cannot_be_estimated_is_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match=f"pass@{k} cannot be estimated from {c} passes of {n} trials"):
        pass_at_k(n, c, k)


def test_the_mean_is_over_tasks_whatever_their_trials() -> None:
    assert mean_pass_at_k([(10, 3), (2, 2), (4, 0)], 1) == pytest.approx((0.3 + 1 + 0) / 3)
    assert mean_pass_at_k([], 1) is None


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0.0, "0.0"), (39.2857, "39.3"), (100.0, "100.0"), (0.04, "0.0")]
)
def test_percent(value: float | None, shown: str) -> None:
    assert board_tags.percent(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(None, "–"), (11.0, "11"), (10.5, "10.5"), (10.999999999999, "11")])
def test_count(value: float | None, shown: str) -> None:
    assert board_tags.count(value) == shown


def test_interval_bar() -> None:
    bar = board_tags.interval_bar(TestsCell(percent=39.3, low=23.6, high=57.6, passed=11, tasks=28))
    assert '<line class="interval-range" x1="25.2%" y1="5" x2="57.1%" y2="5"/>' in bar
    assert 'cx="39.9%"' in bar
    assert "style=" not in bar


def test_label_bar_stacks_the_shares() -> None:
    bar = board_tags.label_bar(LabelsCell(cc=17.9, lc=10.7, li=71.4, labelled=28, abstained=0, tasks=28))
    assert '<rect class="label-lc" x="17.9" width="10.7"' in bar
    assert '<rect class="label-li" x="28.6" width="71.4"' in bar


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 %"), (0.004, "less than 1 %"), (0.01, "1 %"), (0.999, "99 %"), (1.0, "100 %"), (3, "300 %")],
)
def test_shares_are_rounded_down(value: float, text: str) -> None:
    assert share(value) == text


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0.5**10, "1 in 1,024"), (0.3, "1 in 3"), (1.0, "1 in 1"), (1e-9, "below one in a billion")],
)
def test_small_probabilities_are_odds(probability: float, text: str) -> None:
    assert tiny(probability) == text
