"""Comparing systems: every statistic against its library, or a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap  # type: ignore[attr-defined]  # made when it is imported
from statsmodels.stats.contingency_tables import mcnemar as library_mcnemar
from statsmodels.stats.multitest import multipletests

from leaderboard.statistics.paired import RESAMPLES, compare, holm, mcnemar, rank_bands
from tests.conftest import examples

NAN = float("nan")


@pytest.mark.parametrize(
    ("b", "c", "p"), [(5, 0, 0.0625), (6, 0, 0.03125), (8, 1, 0.0390625), (5, 3, 0.7265625), (4, 4, 1.0), (0, 0, 1.0)]
)
def test_the_reference_values_of_mcnemar(b: int, c: int, p: float) -> None:
    assert mcnemar(b, c) == mcnemar(c, b) == p


@given(b=st.integers(0, 60), c=st.integers(0, 60))
def test_mcnemar_is_the_librarys(b: int, c: int) -> None:
    assert mcnemar(b, c) == pytest.approx(library_mcnemar([[3, b], [c, 4]], exact=True).pvalue, abs=1e-12)


def test_holm_of_four_stored_ps() -> None:
    ps = [0.0625, 0.01, 0.03125, 0.7265625]
    assert holm(ps) == pytest.approx([0.125, 0.04, 0.09375, 0.7265625])
    assert holm(ps) == pytest.approx(list(multipletests(ps, method="holm")[1]))


@settings(max_examples=examples(25))  # the library takes a fifteenth of a second for each
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_the_librarys(ps: list[float]) -> None:
    assert holm(ps) == pytest.approx(list(multipletests(ps, method="holm")[1]), abs=1e-12)


def test_holm_of_no_pairs_is_empty() -> None:
    assert holm([]) == []


class TestPair:
    papers = (1, 1, 2, 3, 4, 5, 6, 7)
    a = np.array([1, 1, 1, 1, 0, 1, 0, 1], dtype=float)
    b = np.array([1, 0, 0, 1, 0, 0, 1, NAN], dtype=float)

    def test_counts_tasks_that_both_have(self) -> None:
        pair = compare(self.a, self.b, self.papers)
        assert pair is not None
        assert (pair.tasks, pair.papers, pair.more_a, pair.more_b) == (7, 6, 3, 1)
        assert pair.difference == pytest.approx(100 * 2 / 7)
        assert pair.p == pytest.approx(0.625)

    def test_the_interval_is_that_of_a_plain_loop(self) -> None:
        pair = compare(self.a, self.b, self.papers)
        by_paper = {1: [0, 1], 2: [1], 3: [0], 4: [0], 5: [1], 6: [-1]}
        clusters = list(by_paper)
        generator = np.random.default_rng(20261122)
        means = []
        for counts in generator.multinomial(6, [1 / 6] * 6, size=RESAMPLES):
            drawn = [each for paper, times in zip(clusters, counts, strict=True) for each in by_paper[paper] * times]
            means.append(100 * sum(drawn) / len(drawn))
        assert pair is not None
        assert (pair.low, pair.high) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])))
        assert pair.low < pair.difference < pair.high

    def test_the_interval_is_nearly_scipys(self) -> None:
        """SciPy draws other resamples of the same papers; some papers have several tasks."""
        a, b = np.random.default_rng(5).random((2, 40))
        papers = [number // 2 if number < 20 else number for number in range(40)]
        sums, tasks = np.bincount(papers, a - b), np.bincount(papers)
        both = (sums[tasks > 0], tasks[tasks > 0])
        theirs = bootstrap(
            both,
            lambda sums, tasks, axis: 100 * sums.sum(axis=axis) / tasks.sum(axis=axis),
            paired=True,
            n_resamples=RESAMPLES,
            method="percentile",
            rng=np.random.default_rng(1),
        ).confidence_interval
        pair = compare(a, b, papers)
        assert pair is not None
        assert (pair.low, pair.high) == pytest.approx((theirs.low, theirs.high), abs=0.5)

    def test_trials_count_by_their_share(self) -> None:
        pair = compare(np.array([2 / 3, 1.0]), np.array([1 / 3, 1.0]), [1, 2])
        assert pair is not None
        assert (pair.more_a, pair.more_b, pair.difference) == (1, 0, pytest.approx(100 / 6))
        # Two papers have too few resamples for an interval.
        assert (pair.low, pair.high) == (None, None)

    def test_systems_without_a_shared_task_are_not_compared(self) -> None:
        assert compare(np.array([1.0, NAN]), np.array([NAN, 1.0]), [1, 2]) is None


class TestRankBands:
    papers = tuple(range(10))

    def test_a_system_is_above_what_it_beats_in_nearly_every_resample(self) -> None:
        best, same, worst = [1] * 10, [1] * 9 + [0], [0] * 9 + [1]
        scores = np.array([worst, best, same, best], dtype=float)
        assert rank_bands(scores, self.papers) == [(4, 4), (1, 3), (1, 3), (1, 3)]

    def test_a_system_without_scores_has_no_rank_and_is_not_counted(self) -> None:
        scores = np.array([[1] * 10, [NAN] * 10, [0] * 10], dtype=float)
        assert rank_bands(scores, self.papers) == [(1, 1), None, (2, 2)]

    def test_pairs_are_compared_on_what_both_have(self) -> None:
        half = [1] * 5 + [NAN] * 5
        scores = np.array([half, [0] * 5 + [1] * 5, [0] * 10], dtype=float)
        # The first beats both on the five tasks that it has; the second beats the third on ten.
        assert rank_bands(scores, self.papers) == [(1, 1), (2, 2), (3, 3)]

    def test_too_few_papers_distinguish_no_systems(self) -> None:
        scores = np.array([[1] * 10, [0] * 10], dtype=float)
        assert rank_bands(scores, (1, 1, 1, 2, 2, 2, 3, 3, 4, 4)) == [(1, 2), (1, 2)]

    def test_no_systems_have_no_bands(self) -> None:
        assert rank_bands(np.empty((0, 10)), self.papers) == []

    def test_agrees_with_a_plain_loop_over_pairs(self) -> None:
        generator = np.random.default_rng(7)
        scores = generator.integers(0, 2, size=(6, 12)).astype(float)
        scores[2] = 1
        scores[3] = 0
        papers = [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
        draws = np.random.default_rng(20261122).multinomial(10, [0.1] * 10, size=RESAMPLES)
        above = [[False] * 6 for _ in range(6)]
        for one in range(6):
            for other in range(6):
                margin = np.zeros(10)
                for task, paper in enumerate(papers):
                    margin[paper] += scores[one, task] - scores[other, task]
                above[one][other] = bool(((draws @ margin) > 1e-9).mean() >= 0.975)
        expected = [(1 + sum(above[other][one] for other in range(6)), 6 - sum(above[one])) for one in range(6)]
        assert rank_bands(scores, papers) == expected
        assert expected[2] == (1, expected[2][1])
        assert expected[3][1] == 6
