"""Two raters on the items that both rated."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from leaderboard.agreement import coefficients
from leaderboard.agreement.bootstrap import RESAMPLES, SEED, estimate, resample
from leaderboard.agreement.types import LABELS, LEAST_ITEMS, Coefficient, Pair, PairAgreement, Test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.agreement.coefficients import Array

REST = "rest"
BINARY_LABELS = (REST, "CC")


def compare(
    pairs: Sequence[Pair],
    *,
    labels: tuple[str, ...] = LABELS,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    least: int = LEAST_ITEMS,
) -> PairAgreement:
    """Every coefficient of two raters, with intervals by the bootstrap over papers.

    ``labels`` is the declared scale, worst first. Coefficients are withheld below ``least`` items; the counts are not.
    Raises ValueError on fewer than two labels, a label outside the scale, or an item that comes twice.
    """
    tables = _tables_by_cluster(pairs, labels)
    matrix = tables.sum(axis=0)
    q = len(labels)
    same, squared = coefficients.identity_weights(q), coefficients.quadratic_weights(q)
    used = ", ".join(label for label, count in zip(labels, matrix.sum(0) + matrix.sum(1), strict=True) if count)
    shown = partial(
        estimate,
        resampled=resample(tables, items=len(pairs), resamples=resamples, seed=seed),
        least=least,
        undefined=f"both raters use one label only ({used})",
    )
    return PairAgreement(
        n=len(pairs),
        clusters=len(tables),
        labels=labels,
        matrix=tuple(tuple(int(count) for count in row) for row in matrix),
        marginals=(tuple(map(int, matrix.sum(axis=1))), tuple(map(int, matrix.sum(axis=0)))),
        agreement=shown(coefficients.agreement),
        conflicts=int(matrix[0, -1] + matrix[-1, 0]),
        conflict_share=shown(coefficients.conflict_share),
        kappa=shown(partial(coefficients.cohen, weights=same)),
        quadratic_kappa=shown(partial(coefficients.cohen, weights=squared)),
        alpha=_library_value(shown(_stacked_alpha), matrix),
        ac1=shown(partial(coefficients.gwet, weights=same)),
        ac2=shown(partial(coefficients.gwet, weights=squared)),
        bowker=_bowker(matrix) if len(pairs) >= least else None,
        stuart_maxwell=_stuart_maxwell(matrix) if len(pairs) >= least else None,
    )


def binary(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs as completely correct against the rest (the paper's Table 6): compare them with BINARY_LABELS."""
    return [replace(pair, first=_binary_label(pair.first), second=_binary_label(pair.second)) for pair in pairs]


def _binary_label(label: str) -> str:
    return label if label == BINARY_LABELS[1] else REST


def _stacked_alpha(tables: Array) -> Array:
    return coefficients.krippendorff_alpha(coefficients.coincidences(tables))


def _library_value(alpha: Coefficient, matrix: Array) -> Coefficient:
    """Alpha with the value that the krippendorff package computes of the pairs."""
    if alpha.value is None:
        return alpha
    labels = np.eye(len(matrix))
    cells = (labels[:, None, :] + labels[None, :, :]).reshape(-1, len(matrix))
    counts = np.repeat(cells, matrix.astype(np.intp).ravel(), axis=0)
    return replace(alpha, value=coefficients.alpha_of_items(counts))


def _tables_by_cluster(pairs: Sequence[Pair], labels: tuple[str, ...]) -> Array:
    """One table per cluster, in the order of the clusters' names: ``(clusters, q, q)``."""
    if len(set(labels)) != len(labels) or len(labels) < 2:
        msg = f"a scale needs at least two different labels, not {labels}"
        raise ValueError(msg)
    if len({pair.item for pair in pairs}) != len(pairs):
        items = [pair.item for pair in pairs]
        msg = f"item {next(item for item in items if items.count(item) > 1)!r} comes twice; each item has one pair"
        raise ValueError(msg)
    if unknown := {label for pair in pairs for label in (pair.first, pair.second)} - set(labels):
        msg = f"labels {sorted(unknown)} are not on the scale {labels}"
        raise ValueError(msg)
    rank = {label: number for number, label in enumerate(labels)}
    place = {name: number for number, name in enumerate(sorted({pair.cluster for pair in pairs}))}
    tables = np.zeros((len(place), len(labels), len(labels)))
    for pair in pairs:
        tables[place[pair.cluster], rank[pair.first], rank[pair.second]] += 1
    return tables


def _bowker(matrix: Array) -> Test | None:
    """Bowker's test of symmetry among the labels in use; of two labels it is McNemar's, uncorrected."""
    used = matrix.sum(axis=0) + matrix.sum(axis=1) > 0
    if np.trace(matrix) == matrix.sum():
        return None
    # statsmodels takes seconds to import, which a page that shows cached results must not.
    from statsmodels.stats.contingency_tables import SquareTable

    result = SquareTable(matrix[np.ix_(used, used)], shift_zeros=False).symmetry()
    return Test(float(result.statistic), int(result.df), float(result.pvalue))


def _stuart_maxwell(matrix: Array) -> Test | None:
    """The Stuart-Maxwell test of equal marginals; None where no item's label differs.

    Labels on which the raters never differ say nothing and would make the covariance singular, so they are left out.
    Of more than three labels the rest may still fall apart into groups: None then, too.
    """
    differing = matrix - np.diag(np.diag(matrix))
    moved = differing.sum(axis=0) + differing.sum(axis=1) > 0
    part = matrix[np.ix_(moved, moved)]
    covariance = np.diag(differing.sum(axis=0) + differing.sum(axis=1)) - differing - differing.T
    if not moved.any() or np.linalg.matrix_rank(covariance) < moved.sum() - 1:
        return None
    from statsmodels.stats.contingency_tables import SquareTable

    result = SquareTable(part, shift_zeros=False).homogeneity()
    return Test(float(result.statistic), int(result.df), float(result.pvalue))
