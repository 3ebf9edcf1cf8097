"""The percentile bootstrap over papers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bootstrap  # type: ignore[attr-defined]  # made when it is imported

from leaderboard.statistics.estimates import estimate, resample
from leaderboard.statistics.results import Coefficient


def mean(sums: np.ndarray) -> np.ndarray:
    """The mean of clusters given as (sum, count)."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def clusters_of(*values: float) -> np.ndarray:
    return np.array([[value, 1.0] for value in values])


def test_the_interval_is_that_of_drawn_clusters() -> None:
    """A mean of 100 zeros and ones lies within two standard errors: .5 plus or minus 1.96 * .05."""
    sums = clusters_of(*[0.0, 1.0] * 50)
    found = estimate(mean, resample(sums, items=100), least=10)
    assert found.value == 0.5
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.402, 0.598), abs=0.011)


def test_the_interval_is_nearly_scipys() -> None:
    """SciPy draws other resamples of the same papers of different sizes; a mean weighs each item equally."""
    sums, counts = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]), np.array([5.0, 3, 9, 2, 6, 9, 5, 8, 9, 7, 9, 9])
    theirs = bootstrap(
        (sums, counts),
        lambda sums, counts, axis: sums.sum(axis=axis) / counts.sum(axis=axis),
        paired=True,
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    found = estimate(mean, resample(np.column_stack([sums, counts]), items=81, resamples=20_000), least=10)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((theirs.low, theirs.high), abs=0.005)


def test_the_same_seed_draws_the_same_clusters() -> None:
    sums = clusters_of(*range(20))
    found = [estimate(mean, resample(sums, items=20, seed=seed), least=10).interval for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_papers_are_drawn_not_items() -> None:
    """Four equal items in each paper give the same estimate as one."""
    values = [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0]
    once = clusters_of(*values)
    assert estimate(mean, resample(4 * once, items=40), least=10) == estimate(mean, resample(once, items=10), least=10)


def test_four_papers_give_no_interval_five_do() -> None:
    four, five = (estimate(mean, resample(clusters_of(*range(n)), items=40), least=10) for n in (4, 5))
    assert four == Coefficient(1.5, None, "no interval: too few papers (4 of at least 5)")
    assert five.interval is not None


def above_half(sums: np.ndarray) -> np.ndarray:
    means = mean(sums)
    return np.where(means > 0.5, means, np.nan)


def test_no_interval_where_many_resamples_are_undefined() -> None:
    """Leaving them out would bias the interval: here, every mean up to 0.5 is undefined."""
    found = estimate(above_half, resample(clusters_of(*[1.0, 1, 1, 0, 0]), items=12), least=10)
    assert (found.value, found.interval) == (0.6, None)
    assert found.why == "no interval: undefined in 32% of resamples"


def test_a_few_undefined_resamples_are_left_out() -> None:
    found = estimate(above_half, resample(clusters_of(*[1.0] * 10, 0, 0), items=12), least=10)
    assert found.value == pytest.approx(10 / 12)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (pytest.approx(7 / 12), 1.0)
