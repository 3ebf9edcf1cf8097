"""Compute coefficients of agreement, each over a stack of tables: the bootstrap needs thousands of them.

A table counts the items of two raters: its shape is ``(…, q, q)``, first rater in rows, labels from CC to LI; results
have the shape ``(…)``. If both raters use only one label, chance-corrected agreement is undefined: nan, never 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Level = Literal["nominal", "ordinal", "interval", "ratio"]


def identity_weights(q: int) -> Array:
    """Give credit 1 for the same label, 0 for another. Shape ``(q, q)``."""
    return np.eye(q)


def quadratic_weights(q: int) -> Array:
    """Give credit that falls with the squared distance of two labels, from 1 to 0. Shape ``(q, q)``."""
    rank = np.arange(q)
    return 1 - (rank[:, None] - rank[None, :]) ** 2 / (q - 1) ** 2


def agreement(tables: Array) -> Array:
    """Return the share of items with the same label from both raters."""
    return _weighted_share(tables, identity_weights(tables.shape[-1]))


def conflict_share(tables: Array) -> Array:
    """Return the share of items with the first label from one rater and the last from the other."""
    return ratio(tables[..., 0, -1] + tables[..., -1, 0], tables.sum(axis=(-2, -1)))


def cohen(tables: Array, weights: Array) -> Array:
    """Compute Cohen's kappa with the given credit (J. Cohen 1960, 1968)."""
    n = tables.sum(axis=(-2, -1))[..., None, None]
    expected = ratio(tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :], n)
    by_chance = _weighted_share(expected, weights)
    return corrected(_weighted_share(tables, weights), by_chance, undefined=one_label(_both_margins(tables)))


def gwet(tables: Array, weights: Array) -> Array:
    """Compute Gwet's AC1 (identity weights) or AC2 (K. L. Gwet 2008, 2014).

    Chance agreement depends on the number of labels: ``q`` is the table's, the declared scale, even if a label is never
    used. AC1 of three labels is between -.5 and 1; AC2 with quadratic weights can be as low as -2.
    """
    margins = _both_margins(tables)
    shares = ratio(margins, margins.sum(axis=-1)[..., None])
    q = weights.shape[-1]
    by_chance = weights.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=-1)
    return corrected(_weighted_share(tables, weights), by_chance, undefined=one_label(margins))


def coincidences(tables: Array) -> Array:
    """Compute Krippendorff's coincidence matrices of two raters without missing ratings."""
    return tables + np.swapaxes(tables, -2, -1)


def item_coincidences(counts: Array) -> Array:
    """Compute the coincidence matrix of each item ``(items, q, q)`` from its counts of labels, at least two in all."""
    ordered_pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    return np.asarray(ordered_pairs / (counts.sum(axis=1) - 1)[:, None, None])


def krippendorff_alpha(matrices: Array, level: Level = "ordinal") -> Array:
    """Compute Krippendorff's alpha of coincidence matrices ``(…, q, q)`` (K. Krippendorff 2011).

    The labels' ranks 1 to q are their values at the levels "interval" and "ratio".
    """
    margins = matrices.sum(axis=-1)
    distances = _distances(margins, level)
    observed = (matrices * distances).sum(axis=(-2, -1))
    expected = (margins[..., :, None] * margins[..., None, :] * distances).sum(axis=(-2, -1))
    disagreement = ratio(observed * (margins.sum(axis=-1) - 1), expected)
    return np.where(one_label(margins), np.nan, 1 - disagreement)


def _distances(margins: Array, level: Level) -> Array:
    """Return squared distances of every two labels; on the ordinal scale they depend on how often labels are used."""
    q = margins.shape[-1]
    values = np.arange(1, q + 1, dtype=np.float64)
    if level == "ordinal":
        middle = np.cumsum(margins, axis=-1) - margins / 2
        return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)
    if level == "nominal":
        return 1 - identity_weights(q)
    difference = values[:, None] - values[None, :]
    return difference**2 if level == "interval" else (difference / (values[:, None] + values[None, :])) ** 2


def ratio(over: Array, under: Array) -> Array:
    """Divide ``over`` by ``under``; nan where ``under`` is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(under == 0, np.nan, over / under))


def one_label(margins: Array) -> NDArray[np.bool_]:
    """Check, from counts of labels ``(…, q)``, whether at most one label is used: ``(…)``."""
    return np.asarray((margins > 0).sum(axis=-1) <= 1)


def corrected(observed: Array, by_chance: Array, *, undefined: NDArray[np.bool_]) -> Array:
    """Correct observed agreement for agreement by chance; nan where ``undefined``."""
    return np.where(undefined, np.nan, ratio(observed - by_chance, np.where(undefined, 0, 1 - by_chance)))


def _weighted_share(tables: Array, weights: Array) -> Array:
    return ratio((tables * weights).sum(axis=(-2, -1)), tables.sum(axis=(-2, -1)))


def _both_margins(tables: Array) -> Array:
    return np.asarray(tables.sum(axis=-1) + tables.sum(axis=-2))
