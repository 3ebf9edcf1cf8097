"""Two raters on the items that both rated."""

from __future__ import annotations

from functools import partial
from math import erfc, exp, gamma, sqrt
from typing import TYPE_CHECKING

import numpy as np

from leaderboard.agreement import coefficients
from leaderboard.agreement.bootstrap import RESAMPLES, SEED, estimate, resample
from leaderboard.agreement.types import LABELS, LEAST_ITEMS, PairAgreement, Test

if TYPE_CHECKING:
    from leaderboard.agreement.coefficients import Array
    from leaderboard.agreement.types import PairCounts


def compare(
    counts: PairCounts,
    *,
    labels: tuple[str, ...] = LABELS,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    least: int = LEAST_ITEMS,
) -> PairAgreement:
    """Every coefficient of two raters, with intervals by the bootstrap over papers.

    ``labels`` is the declared scale, worst first. Coefficients are withheld below ``least`` items; the counts are not.
    Raises ValueError on fewer than two labels, or a label outside the scale.
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
    """One table for each paper, in the order of their names: ``(papers, q, q)``."""
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
    """Bowker's test of symmetry among the labels in use (A. H. Bowker 1948); None where no item's label differs.

    Of two labels it is McNemar's, uncorrected.
    """
    used = int((matrix.sum(axis=0) + matrix.sum(axis=1) > 0).sum())
    if np.trace(matrix) == matrix.sum():
        return None
    both_ways, difference = np.triu(matrix + matrix.T, 1), np.triu(matrix - matrix.T, 1)
    statistic = float((difference[both_ways > 0] ** 2 / both_ways[both_ways > 0]).sum())
    df = used * (used - 1) // 2
    return Test(statistic, df, chi_square_tail(statistic, df))


def _stuart_maxwell(matrix: Array) -> Test | None:
    """The Stuart-Maxwell test of equal marginals (A. Stuart 1955, A. E. Maxwell 1970); None where no label differs.

    Labels on which the raters never differ say nothing and would make the covariance singular, so they are left out.
    Of more than three labels the rest may still fall apart into groups: None then, too.
    """
    differing = matrix - np.diag(np.diag(matrix))
    either = differing.sum(axis=0) + differing.sum(axis=1)
    moved = np.flatnonzero(either)
    covariance = np.diag(either) - differing - differing.T
    if not moved.size or np.linalg.matrix_rank(covariance) < moved.size - 1:
        return None
    # The marginals' differences sum to nothing, so the last one follows from the others.
    free = moved[:-1]
    shift = (differing.sum(axis=0) - differing.sum(axis=1))[free]
    statistic = float(shift @ np.linalg.solve(covariance[np.ix_(free, free)], shift))
    return Test(statistic, free.size, chi_square_tail(statistic, free.size))


def chi_square_tail(statistic: float, df: int) -> float:
    """The chance that chi-square of ``df`` degrees of freedom is at least ``statistic``.

    The regularised incomplete gamma function ``Q(df / 2, statistic / 2)``, by its recurrence from 1/2 or 1 upwards.
    """
    half, a = statistic / 2, 1 - df % 2 / 2
    tail = exp(-half) if a == 1 else erfc(sqrt(half))
    while a < df / 2:
        tail += half**a * exp(-half) / gamma(a + 1)
        a += 1
    return tail
