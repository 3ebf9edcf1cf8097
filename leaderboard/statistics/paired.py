"""Comparing systems on the tasks that they share, and ranks as far as these can tell systems apart. No Django here.

Scores are arrays of (systems, tasks): the share of its trials in which a system passes a task, nan where that is not
known. Whole papers are drawn, since the tasks of one paper resemble each other; both systems of a pair get the same.
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
"""A system is above another that it beats in this share of the resamples: the 95 % interval excludes no difference."""
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Pair:
    """What tells system ``a`` from system ``b`` on ``tasks`` shared tasks of ``papers`` papers.

    ``more_a`` and ``more_b`` are the discordant tasks, those that one of them passes in more trials than the other.
    ``difference`` (of pass@1, in percentage points, positive where ``a`` is better) has a 95 % percentile interval of
    the paired bootstrap over papers; none below five papers. ``p`` is McNemar's exact test, two-sided.
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
    """Compare two systems' scores of the same tasks, ``papers`` giving each task's paper; None without a shared one."""
    shared = ~(np.isnan(a) | np.isnan(b))
    number = int(shared.sum())
    if not number:
        return None
    differences = a[shared] - b[shared]
    # A resample has as many papers, but not as many tasks, as there are: the second row counts them.
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
    """The two-sided p of the exact McNemar test for ``b`` against ``c`` discordant tasks; 1 where there are none.

    Source: Q. McNemar (1947), with the binomial distribution; as statsmodels' ``mcnemar(exact=True)``.
    """
    number = b + c
    tail = sum(comb(number, k) for k in range(min(b, c) + 1)) / 2**number
    return min(1.0, 2 * float(tail))


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values adjusted for being so many. Source: S. Holm (1979); as statsmodels' ``multipletests``."""
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    adjusted, largest = [0.0] * len(ps), 0.0
    for done, place in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - done) * ps[place]))
        adjusted[place] = largest
    return adjusted


def rank_bands(scores: Array, papers: Sequence[int]) -> list[tuple[int, int] | None]:
    """The first and the last rank of each system that the resamples do not exclude; None without any score.

    The first is one more than the systems above it, the last the number of systems less those below it. Two systems are
    compared on the tasks that both have; where these are of fewer than five papers, neither is above the other.
    """
    known = ~np.isnan(scores)
    ranked = np.asarray(known.any(axis=1))
    above = _above(scores, np.asarray(papers), known)
    first, last = 1 + above.sum(axis=0), int(ranked.sum()) - above.sum(axis=1)
    return [(int(first[row]), int(last[row])) if has_scores else None for row, has_scores in enumerate(ranked.tolist())]


def _above(scores: Array, papers: Array, known: Array) -> Array:
    """``(systems, systems)``: whether the first is above the second."""
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
    """Scores of (systems, tasks) summed to (papers, systems)."""
    _, paper_of = np.unique(papers, return_inverse=True)
    sums = np.zeros((int(paper_of.max(initial=-1)) + 1, len(scores)))
    np.add.at(sums, paper_of, scores.T)
    return sums
