"""Compare systems on their shared tasks, and compute rank bands: ranks that the data do not exclude. No Django here.

Scores are arrays of (systems, tasks): the share of its trials in which a system passes a task, nan if unknown. The
bootstrap draws whole papers, since the tasks of one paper are alike, and the same papers for both systems of a pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Final

import numpy as np

from leaderboard.statistics.estimates import LEAST_CLUSTERS, PERCENTILES, resample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.statistics.coefficients import Array

RESAMPLES: Final = 10_000
ABOVE: Final = 0.975
"""A system is above another that it beats in this share of resamples: the difference's 95 % interval excludes 0."""
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Pair:
    """The difference between systems ``a`` and ``b`` on ``tasks`` shared tasks of ``papers`` papers.

    ``more_a`` and ``more_b`` are the discordant tasks, those that one system passes in more trials than the other.
    ``difference`` (of pass@1, in percentage points, positive if ``a`` is better) has a 95 % percentile interval of the
    paired bootstrap over papers, but none below five papers. ``p`` is from McNemar's exact test, two-sided.
    """

    tasks: int
    papers: int
    more_a: int
    more_b: int
    difference: float
    low: float | None
    high: float | None
    p: float


def compare(a: Array, b: Array, papers: Sequence[int]) -> Pair | None:
    """Compare two systems' scores of the same tasks; ``papers`` has each task's paper. None without a shared task."""
    shared = ~(np.isnan(a) | np.isnan(b))
    number = int(shared.sum())
    if not number:
        return None
    differences = a[shared] - b[shared]
    # A resample has the original number of papers, but not of tasks: the second row counts them.
    sums = _sums_by_paper(np.stack([differences, np.ones(number)]), np.asarray(papers)[shared])
    drawn = resample(sums, items=number, resamples=RESAMPLES)
    low = high = None
    if drawn.clusters >= LEAST_CLUSTERS:
        low, high = np.percentile(100 * drawn.resamples[:, 0] / drawn.resamples[:, 1], PERCENTILES).tolist()
    more_a, more_b = int((differences > _TINY).sum()), int((differences < -_TINY).sum())
    return Pair(
        number, drawn.clusters, more_a, more_b, 100 * float(differences.mean()), low, high, mcnemar(more_a, more_b)
    )


def mcnemar(b: int, c: int) -> float:
    """Return the two-sided p of the exact McNemar test for ``b`` against ``c`` discordant tasks; 1 if there are none.

    Source: Q. McNemar (1947), with the binomial distribution; as statsmodels' ``mcnemar(exact=True)``.
    """
    number = b + c
    tail = sum(comb(number, k) for k in range(min(b, c) + 1)) / 2**number
    return min(1.0, 2 * float(tail))


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust p-values for multiple tests. Source: S. Holm (1979); as statsmodels' ``multipletests``."""
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    adjusted, largest = [0.0] * len(ps), 0.0
    for done, place in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - done) * ps[place]))
        adjusted[place] = largest
    return adjusted


def rank_bands(scores: Array, papers: Sequence[int]) -> list[tuple[int, int] | None]:
    """Return each system's first and last rank that the resamples do not exclude; None without any score.

    The first rank is one more than the number of systems above it, the last is the number of systems less those below
    it. Two systems are compared on the tasks that both have; if these come from fewer than five papers, neither system
    is above the other.
    """
    known = ~np.isnan(scores)
    ranked = np.asarray(known.any(axis=1))
    above = _above(scores, np.asarray(papers), known)
    first, last = 1 + above.sum(axis=0), int(ranked.sum()) - above.sum(axis=1)
    return [(int(first[row]), int(last[row])) if has_scores else None for row, has_scores in enumerate(ranked.tolist())]


def _above(scores: Array, papers: Array, known: Array) -> Array:
    """Return ``(systems, systems)``: whether the first is above the second."""
    above = np.zeros((len(scores), len(scores)), dtype=bool)
    patterns, group_of = np.unique(known, axis=0, return_inverse=True)
    groups = [np.flatnonzero(group_of.ravel() == number) for number in range(len(patterns))]
    for one, first in enumerate(patterns):
        for other in range(one, len(patterns)):
            shared = first & patterns[other]
            rows = np.union1d(groups[one], groups[other])
            sums = _sums_by_paper(scores[np.ix_(rows, shared)], papers[shared])
            drawn = resample(sums, items=int(shared.sum()), resamples=RESAMPLES)
            if drawn.clusters < LEAST_CLUSTERS:
                continue
            totals = drawn.resamples.astype(np.float32).T
            places = {row: place for place, row in enumerate(rows)}
            others = [places[row] for row in groups[other]]
            for row in groups[one]:
                margins = totals[places[row]] - totals[others]
                above[row, groups[other]] = (margins > 1e-4).mean(axis=1) >= ABOVE
                above[groups[other], row] = (margins < -1e-4).mean(axis=1) >= ABOVE
    return above


def _sums_by_paper(scores: Array, papers: Array) -> Array:
    """Sum scores of (systems, tasks) to (papers, systems)."""
    _, paper_of = np.unique(papers, return_inverse=True)
    sums = np.zeros((int(paper_of.max(initial=-1)) + 1, len(scores)))
    np.add.at(sums, paper_of, scores.T)
    return sums
