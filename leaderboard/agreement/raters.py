"""More than two raters, where not everybody rated everything."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from leaderboard.agreement import coefficients
from leaderboard.agreement.bootstrap import RESAMPLES, SEED, Resampled, estimate, resample
from leaderboard.agreement.types import LABELS, LEAST_ITEMS, Coefficient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leaderboard.agreement.coefficients import Array, Level

    ItemCounts = Mapping[tuple[str, tuple[int, ...]], int]
    """(paper, how many raters gave an item each label, worst first) -> number of such items."""

ONE_LABEL = "all raters use one label only"


def fleiss(items: ItemCounts, *, resamples: int = RESAMPLES, seed: int = SEED, least: int = LEAST_ITEMS) -> Coefficient:
    """Fleiss' kappa (J. L. Fleiss 1971), with K. L. Gwet's (2014) treatment of gaps."""
    counts, papers = _stacked(items)
    weights = coefficients.identity_weights(counts.shape[1])
    resampled = _resampled(_shares(counts, papers, weights), counts, resamples, seed)
    return estimate(_fleiss, resampled, least=least, undefined=ONE_LABEL)


def ac1(items: ItemCounts, *, resamples: int = RESAMPLES, seed: int = SEED, least: int = LEAST_ITEMS) -> Coefficient:
    """Gwet's AC1 of any number of raters."""
    counts, papers = _stacked(items)
    weights = coefficients.identity_weights(counts.shape[1])
    resampled = _resampled(_shares(counts, papers, weights), counts, resamples, seed)
    return estimate(partial(_gwet, weights=weights), resampled, least=least, undefined=ONE_LABEL)


def ordinal_alpha(
    items: ItemCounts,
    *,
    level: Level = "ordinal",
    resamples: int = RESAMPLES,
    seed: int = SEED,
    least: int = LEAST_ITEMS,
) -> Coefficient:
    """Krippendorff's alpha of any number of raters, ordinal unless ``level`` says otherwise.

    Items with a single rating count for nothing.
    """
    counts, papers = _stacked(items)
    shared = counts.sum(axis=1) > 1
    matrices = coefficients.item_coincidences(counts[shared])
    sums = _by_cluster(matrices, papers[shared])
    statistic = partial(coefficients.krippendorff_alpha, level=level)
    return estimate(statistic, _resampled(sums, counts, resamples, seed), least=least, undefined=ONE_LABEL)


def _stacked(items: ItemCounts) -> tuple[Array, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """How many raters gave each item each label ``(items, q)``, and the number of each item's paper ``(items,)``."""
    place = {name: number for number, name in enumerate(sorted({paper for paper, _ in items}))}
    times = np.fromiter(items.values(), dtype=np.intp)
    counts = np.array([given for _, given in items], dtype=np.float64).reshape(len(items), -1 if items else len(LABELS))
    papers = np.array([place[paper] for paper, _ in items], dtype=np.intp)
    return counts.repeat(times, axis=0), papers.repeat(times)


def _shares(counts: Array, papers: np.ndarray[tuple[int], np.dtype[np.intp]], weights: Array) -> Array:
    """Per cluster: the items' summed agreement, the number of shared items, and summed shares of the labels.

    Shape ``(clusters, 2 + q)``. Agreement of an item is that of a random pair of its raters.
    """
    raters = counts.sum(axis=1)
    shared = raters > 1
    pairs = np.where(shared, raters * (raters - 1), 1)
    agreeing = np.where(shared, (counts * (counts @ weights - 1)).sum(axis=1) / pairs, 0.0)
    return _by_cluster(np.column_stack([agreeing, shared, counts / raters[:, None]]), papers)


def _by_cluster(values: Array, papers: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Array:
    """Sums of the items' values ``(items, …)`` over each cluster that has any: ``(clusters, …)``."""
    used, place = np.unique(papers, return_inverse=True)
    sums = np.zeros((len(used), *values.shape[1:]))
    np.add.at(sums, place, values)
    return sums


def _resampled(sums: Array, counts: Array, resamples: int, seed: int) -> Resampled:
    return resample(sums, items=int((counts.sum(axis=1) > 1).sum()), resamples=resamples, seed=seed)


def _observed_and_shares(sums: Array) -> tuple[Array, Array]:
    shares = sums[..., 2:]
    return coefficients.ratio(sums[..., 0], sums[..., 1]), shares / shares.sum(axis=-1)[..., None]


def _fleiss(sums: Array) -> Array:
    observed, shares = _observed_and_shares(sums)
    return coefficients.corrected(observed, (shares**2).sum(axis=-1), undefined=coefficients.one_label(shares))


def _gwet(sums: Array, weights: Array) -> Array:
    observed, shares = _observed_and_shares(sums)
    return coefficients.gwet_corrected(observed, shares, weights, undefined=coefficients.one_label(shares))
