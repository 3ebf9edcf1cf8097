"""More than two raters, where not everybody rated everything."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from leaderboard.agreement import coefficients
from leaderboard.agreement.bootstrap import RESAMPLES, SEED, Resampled, estimate, resample
from leaderboard.agreement.types import LABELS, LEAST_ITEMS, Coefficient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leaderboard.agreement.coefficients import Array, Level

    Ratings = Mapping[str, Mapping[str, str]]
    """Rater to item to label; an item that a rater did not rate is missing."""

ONE_LABEL = "all raters use one label only"


def fleiss(
    ratings: Ratings,
    *,
    clusters: Mapping[str, str] | None = None,
    labels: tuple[str, ...] = LABELS,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    least: int = LEAST_ITEMS,
) -> Coefficient:
    """Fleiss' kappa (J. L. Fleiss 1971), with K. L. Gwet's (2014) treatment of gaps.

    ``clusters`` names each item's paper, over which the bootstrap draws; without it each item stands for itself.
    Raises ValueError on a label outside the scale, and KeyError on an item without a cluster.
    """
    counts, papers = _counts(ratings, labels, clusters)
    resampled = _resampled(_shares(counts, papers, coefficients.identity_weights(len(labels))), counts, resamples, seed)
    return estimate(_fleiss, resampled, least=least, undefined=ONE_LABEL)


def ac1(
    ratings: Ratings,
    *,
    clusters: Mapping[str, str] | None = None,
    labels: tuple[str, ...] = LABELS,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    least: int = LEAST_ITEMS,
) -> Coefficient:
    """Gwet's AC1 of any number of raters; arguments and errors as in ``fleiss``."""
    weights = coefficients.identity_weights(len(labels))
    counts, papers = _counts(ratings, labels, clusters)
    resampled = _resampled(_shares(counts, papers, weights), counts, resamples, seed)
    return estimate(partial(_gwet, weights=weights), resampled, least=least, undefined=ONE_LABEL)


def ordinal_alpha(
    ratings: Ratings,
    *,
    clusters: Mapping[str, str] | None = None,
    labels: tuple[str, ...] = LABELS,
    level: Level = "ordinal",
    resamples: int = RESAMPLES,
    seed: int = SEED,
    least: int = LEAST_ITEMS,
) -> Coefficient:
    """Krippendorff's alpha of any number of raters, ordinal unless ``level`` says otherwise.

    Arguments and errors as in ``fleiss``; items with a single rating count for nothing.
    """
    counts, papers = _counts(ratings, labels, clusters)
    shared = counts.sum(axis=1) > 1
    matrices = coefficients.item_coincidences(counts[shared])
    sums = _by_cluster(matrices, papers[shared])
    statistic = partial(coefficients.krippendorff_alpha, level=level)
    alpha = estimate(statistic, _resampled(sums, counts, resamples, seed), least=least, undefined=ONE_LABEL)
    return alpha if alpha.value is None else replace(alpha, value=coefficients.alpha_of_items(counts, level))


def _counts(
    ratings: Ratings, labels: tuple[str, ...], clusters: Mapping[str, str] | None
) -> tuple[Array, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """How many raters gave each item each label ``(items, q)``, and the number of each item's cluster ``(items,)``."""
    rank = {label: number for number, label in enumerate(labels)}
    items = sorted({item for rated in ratings.values() for item in rated})
    place = {item: number for number, item in enumerate(items)}
    counts = np.zeros((len(items), len(labels)))
    for rater, rated in ratings.items():
        for item, label in rated.items():
            if label not in rank:
                msg = f"{rater} gives item {item!r} the label {label!r}, which is not on the scale {labels}"
                raise ValueError(msg)
            counts[place[item], rank[label]] += 1
    names = [item if clusters is None else clusters[item] for item in items]
    order = {name: number for number, name in enumerate(sorted(set(names)))}
    return counts, np.array([order[name] for name in names], dtype=np.intp)


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
