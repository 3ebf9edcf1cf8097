"""Estimate the agreement of two raters, or of more with missing ratings, with intervals by the bootstrap.

The bootstrap resamples clusters (papers), not items: the items of one paper share its difficulty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import erfc, exp, gamma, sqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from leaderboard.statistics import coefficients
from leaderboard.statistics.results import LABELS, LEAST_ITEMS, Coefficient, Interval, PairAgreement, Test

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leaderboard.statistics.coefficients import Array, Level
    from leaderboard.statistics.results import PairCounts

    Places: TypeAlias = np.ndarray[tuple[int], np.dtype[np.intp]]
    ItemCounts = Mapping[tuple[str, tuple[int, ...]], int]
    """(paper, numbers of raters that gave an item CC, LC, LI) -> number of such items."""

RESAMPLES = 2000
SEED = 20261122
PERCENTILES = (2.5, 97.5)
LEAST_CLUSTERS = 5
"""Four clusters have only 35 different resamples: too few for percentiles in the tails."""
MOST_UNDEFINED = 0.05
"""The largest share of undefined resamples; beyond it the defined ones are a biased selection."""
_ONE_LABEL = "all raters use one label only"


@dataclass(frozen=True, slots=True)
class Resampled:
    """Sums over all clusters ``(…)``, and over the clusters of each resample ``(resamples, …)``."""

    items: int
    clusters: int
    total: Array
    resamples: Array


def resample(sums: Array, *, items: int, resamples: int = RESAMPLES, seed: int = SEED) -> Resampled:
    """Draw clusters with replacement. ``sums`` has one array of counts per cluster: ``(clusters, …)``."""
    clusters = sums.shape[0]
    if clusters < LEAST_CLUSTERS:
        return Resampled(items, clusters, sums.sum(axis=0), np.empty((0, *sums.shape[1:])))
    draws = np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)
    return Resampled(items, clusters, sums.sum(axis=0), np.tensordot(draws.astype(np.float64), sums, axes=1))


def estimate(
    statistic: Callable[[Array], Array], resampled: Resampled, *, least: int, undefined: str = "it has no value here"
) -> Coefficient:
    """Compute a statistic of stacked sums with its interval. ``undefined`` is the reason given if the value is nan."""
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
        return Coefficient(value, None, "no interval: every paper gives the same value")
    low, high = np.percentile(defined, PERCENTILES)
    return Coefficient(value, Interval(float(low), float(high)))


def compare(
    counts: PairCounts,
    *,
    labels: tuple[str, ...] = LABELS,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    least: int = LEAST_ITEMS,
) -> PairAgreement:
    """Compute every coefficient of two raters, with intervals by the bootstrap over papers.

    ``labels`` is the scale, from CC to LI. Below ``least`` items there are counts but no coefficients.
    Raises ValueError for fewer than two labels, or a label outside the scale.
    """
    tables = _tables_by_paper(counts, labels)
    matrix = tables.sum(axis=0)
    n = int(matrix.sum())
    q = len(labels)
    same, squared = coefficients.identity_weights(q), coefficients.quadratic_weights(q)
    used = ", ".join(label for label, count in zip(labels, matrix.sum(0) + matrix.sum(1), strict=True) if count)
    shown = partial(
        estimate,
        resampled=resample(tables, items=n, resamples=resamples, seed=seed),
        least=least,
        undefined=f"both raters use one label only ({used})",
    )
    return PairAgreement(
        n=n,
        clusters=len(tables),
        labels=labels,
        matrix=tuple(tuple(int(count) for count in row) for row in matrix),
        marginals=(tuple(map(int, matrix.sum(axis=1))), tuple(map(int, matrix.sum(axis=0)))),
        agreement=shown(coefficients.agreement),
        conflicts=int(matrix[0, -1] + matrix[-1, 0]),
        conflict_share=shown(coefficients.conflict_share),
        kappa=shown(partial(coefficients.cohen, weights=same)),
        quadratic_kappa=shown(partial(coefficients.cohen, weights=squared)),
        alpha=shown(_alpha),
        ac1=shown(partial(coefficients.gwet, weights=same)),
        ac2=shown(partial(coefficients.gwet, weights=squared)),
        bowker=_bowker(matrix) if n >= least else None,
        stuart_maxwell=_stuart_maxwell(matrix) if n >= least else None,
    )


def _alpha(tables: Array) -> Array:
    return coefficients.krippendorff_alpha(coefficients.coincidences(tables))


def _tables_by_paper(counts: PairCounts, labels: tuple[str, ...]) -> Array:
    """Return one table for each paper, in the order of their names: ``(papers, q, q)``."""
    if len(set(labels)) != len(labels) or len(labels) < 2:
        msg = f"a scale needs at least two different labels, not {labels}"
        raise ValueError(msg)
    if unknown := {label for _, *both in counts for label in both} - set(labels):
        msg = f"labels {sorted(unknown)} are not on the scale {labels}"
        raise ValueError(msg)
    rank = {label: number for number, label in enumerate(labels)}
    place = {name: number for number, name in enumerate(sorted({paper for paper, _, _ in counts}))}
    tables = np.zeros((len(place), len(labels), len(labels)))
    for (paper, first, second), count in counts.items():
        tables[place[paper], rank[first], rank[second]] += count
    return tables


def _bowker(matrix: Array) -> Test | None:
    """Compute Bowker's test of symmetry among the labels in use (A. H. Bowker 1948); None if no labels differ.

    With two labels it is McNemar's test, uncorrected.
    """
    used = int((matrix.sum(axis=0) + matrix.sum(axis=1) > 0).sum())
    if np.trace(matrix) == matrix.sum():
        return None
    both_ways, difference = np.triu(matrix + matrix.T, 1), np.triu(matrix - matrix.T, 1)
    statistic = float((difference[both_ways > 0] ** 2 / both_ways[both_ways > 0]).sum())
    df = used * (used - 1) // 2
    return Test(statistic, df, chi_square_tail(statistic, df))


def _stuart_maxwell(matrix: Array) -> Test | None:
    """Compute the Stuart-Maxwell test of equal marginals (A. Stuart 1955, A. E. Maxwell 1970); None if none differ.

    Labels on which the raters never differ carry no information and would make the covariance singular; they are left
    out. With more than three labels the rest may still separate into groups: then the result is None as well.
    """
    differing = matrix - np.diag(np.diag(matrix))
    either = differing.sum(axis=0) + differing.sum(axis=1)
    moved = np.flatnonzero(either)
    covariance = np.diag(either) - differing - differing.T
    if not moved.size or np.linalg.matrix_rank(covariance) < moved.size - 1:
        return None
    # The marginals' differences sum to 0, so the last one follows from the others.
    free = moved[:-1]
    shift = (differing.sum(axis=0) - differing.sum(axis=1))[free]
    statistic = float(shift @ np.linalg.solve(covariance[np.ix_(free, free)], shift))
    return Test(statistic, free.size, chi_square_tail(statistic, free.size))


def chi_square_tail(statistic: float, df: int) -> float:
    """Return the probability that chi-square with ``df`` degrees of freedom is at least ``statistic``.

    This is the regularised incomplete gamma function ``Q(df / 2, statistic / 2)``, by its recurrence from 1/2 or 1
    upwards.
    """
    half, a = statistic / 2, 1 - df % 2 / 2
    tail = exp(-half) if a == 1 else erfc(sqrt(half))
    while a < df / 2:
        tail += half**a * exp(-half) / gamma(a + 1)
        a += 1
    return tail


def fleiss(items: ItemCounts, *, resamples: int = RESAMPLES, seed: int = SEED, least: int = LEAST_ITEMS) -> Coefficient:
    """Compute Fleiss' kappa (J. L. Fleiss 1971), with K. L. Gwet's (2014) treatment of missing ratings."""
    counts, papers = _stacked(items)
    resampled = _resampled(_shares(counts, papers), counts, resamples, seed)
    return estimate(_fleiss, resampled, least=least, undefined=_ONE_LABEL)


def ordinal_alpha(
    items: ItemCounts,
    *,
    level: Level = "ordinal",
    resamples: int = RESAMPLES,
    seed: int = SEED,
    least: int = LEAST_ITEMS,
) -> Coefficient:
    """Compute Krippendorff's alpha of any number of raters, by default at the ordinal level.

    Items with a single rating do not count.
    """
    counts, papers = _stacked(items)
    shared = counts.sum(axis=1) > 1
    matrices = coefficients.item_coincidences(counts[shared])
    sums = _by_cluster(matrices, papers[shared])
    statistic = partial(coefficients.krippendorff_alpha, level=level)
    return estimate(statistic, _resampled(sums, counts, resamples, seed), least=least, undefined=_ONE_LABEL)


def _stacked(items: ItemCounts) -> tuple[Array, Places]:
    """Return counts of labels by item ``(items, q)``, and the number of each item's paper ``(items,)``."""
    place = {name: number for number, name in enumerate(sorted({paper for paper, _ in items}))}
    times = np.fromiter(items.values(), dtype=np.intp)
    counts = np.array([given for _, given in items], dtype=np.float64).reshape(len(items), -1 if items else len(LABELS))
    papers = np.array([place[paper] for paper, _ in items], dtype=np.intp)
    return counts.repeat(times, axis=0), papers.repeat(times)


def _shares(counts: Array, papers: Places) -> Array:
    """Sum by cluster: the items' agreement, the number of shared items, and the shares of the labels.

    Shape ``(clusters, 2 + q)``. An item's agreement is that of a random pair of its raters.
    """
    raters = counts.sum(axis=1)
    shared = raters > 1
    pairs = np.where(shared, raters * (raters - 1), 1)
    agreeing = np.where(shared, (counts * (counts - 1)).sum(axis=1) / pairs, 0.0)
    return _by_cluster(np.column_stack([agreeing, shared, counts / raters[:, None]]), papers)


def _by_cluster(values: Array, papers: Places) -> Array:
    """Sum the items' values ``(items, …)`` over each cluster that has any: ``(clusters, …)``."""
    used, place = np.unique(papers, return_inverse=True)
    sums = np.zeros((len(used), *values.shape[1:]))
    np.add.at(sums, place, values)
    return sums


def _resampled(sums: Array, counts: Array, resamples: int, seed: int) -> Resampled:
    return resample(sums, items=int((counts.sum(axis=1) > 1).sum()), resamples=resamples, seed=seed)


def _fleiss(sums: Array) -> Array:
    observed, shares = coefficients.ratio(sums[..., 0], sums[..., 1]), sums[..., 2:]
    shares = shares / shares.sum(axis=-1)[..., None]
    return coefficients.corrected(observed, (shares**2).sum(axis=-1), undefined=coefficients.one_label(shares))
