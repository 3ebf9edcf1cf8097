"""Intervals by the percentile bootstrap over clusters (papers): the items of one paper share its difficulty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leaderboard.agreement.types import Coefficient, Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from leaderboard.agreement.coefficients import Array

RESAMPLES = 2000
SEED = 20261122
PERCENTILES = (2.5, 97.5)
LEAST_CLUSTERS = 5
"""Four clusters have only 35 different resamples: no tail to take a percentile of."""
MOST_UNDEFINED = 0.05
"""The share of resamples that may be undefined; beyond it the defined ones are a biased choice."""


@dataclass(frozen=True, slots=True)
class Resampled:
    """Sums over all clusters ``(…)``, and over the clusters of each resample ``(resamples, …)``."""

    items: int
    clusters: int
    total: Array
    resamples: Array


def resample(sums: Array, *, items: int, resamples: int = RESAMPLES, seed: int = SEED) -> Resampled:
    """Draw clusters with replacement. ``sums`` holds one array of counts per cluster: ``(clusters, …)``."""
    clusters = sums.shape[0]
    if clusters < LEAST_CLUSTERS:
        return Resampled(items, clusters, sums.sum(axis=0), np.empty((0, *sums.shape[1:])))
    draws = np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)
    return Resampled(items, clusters, sums.sum(axis=0), np.tensordot(draws.astype(np.float64), sums, axes=1))


def estimate(
    statistic: Callable[[Array], Array], resampled: Resampled, *, least: int, undefined: str = "it has no value here"
) -> Coefficient:
    """A statistic of stacked sums with its interval. ``undefined`` says why the statistic may be nan."""
    if resampled.items < max(least, 1):
        return Coefficient(None, None, f"too few shared items ({resampled.items} of at least {max(least, 1)})")
    value = float(statistic(resampled.total[None])[0])
    if np.isnan(value):
        return Coefficient(None, None, f"undefined: {undefined}")
    if resampled.clusters < LEAST_CLUSTERS:
        why = f"no interval: too few papers ({resampled.clusters} of at least {LEAST_CLUSTERS})"
        return Coefficient(value, None, why)
    values = statistic(resampled.resamples)
    defined = values[~np.isnan(values)]
    if defined.size < (1 - MOST_UNDEFINED) * values.size:
        return Coefficient(value, None, f"no interval: undefined in {1 - defined.size / values.size:.0%} of resamples")
    if np.ptp(defined) == 0:
        return Coefficient(value, None, "no interval: every paper says the same")
    low, high = np.percentile(defined, PERCENTILES)
    return Coefficient(value, Interval(float(low), float(high)))
