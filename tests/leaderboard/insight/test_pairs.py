"""Two raters: every published value, upstream's 168 pairs, and undefined values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2  # type: ignore[attr-defined]  # made when it is imported
from statsmodels.stats.contingency_tables import SquareTable, mcnemar
from statsmodels.stats.inter_rater import cohens_kappa

from leaderboard.statistics import estimates as pairs_module
from leaderboard.statistics.estimates import chi_square_tail
from leaderboard.statistics.results import LABELS, Coefficient, PairAgreement
from tests.conftest import examples
from tests.leaderboard.statistics.rated import UPSTREAM, Pair, counted, pairs_of

if TYPE_CHECKING:
    from collections.abc import Iterable

TWO = ("no", "yes")
COEFFICIENTS = ("agreement", "conflict_share", "kappa", "quadratic_kappa", "alpha", "ac1", "ac2")
CHANCE_CORRECTED = COEFFICIENTS[2:]


def compare(pairs: Iterable[Pair], **options: Any) -> PairAgreement:
    return pairs_module.compare(counted(pairs), **options)


def value(coefficient: Coefficient) -> float:
    assert coefficient.value is not None
    return coefficient.value


def test_upstreams_168_pairs() -> None:
    """docs/design/published-numbers.md, to the printed digits."""
    found = compare(pairs_of(UPSTREAM, papers=23))
    assert (found.n, found.clusters, found.conflicts) == (168, 23, 16)
    assert found.matrix == UPSTREAM
    assert found.marginals == ((52, 39, 77), (30, 28, 110))
    assert f"{value(found.agreement):.1%} {value(found.conflict_share):.1%}" == "62.5% 9.5%"
    shown = [found.kappa, found.quadratic_kappa, found.alpha, found.ac1]
    assert [f"{value(coefficient):.3f}" for coefficient in shown] == ["0.381", "0.547", "0.531", "0.468"]
    for name in COEFFICIENTS:
        coefficient = getattr(found, name)
        assert coefficient.interval.low < coefficient.value < coefficient.interval.high, name


def test_upstreams_168_pairs_by_the_libraries() -> None:
    found, table = compare(pairs_of(UPSTREAM, papers=23)), np.array(UPSTREAM)
    ratings = [[1 + rank for rank, count in rows for _ in range(count)] for rows in _ranked(table)]
    alpha = krippendorff.alpha(reliability_data=ratings, value_domain=[1, 2, 3], level_of_measurement="ordinal")
    expected = {
        "kappa": cohens_kappa(table, return_results=False),
        "quadratic_kappa": cohens_kappa(table, weights=np.arange(3), wt="quadratic", return_results=False),
        "alpha": alpha,
    }
    assert {name: value(getattr(found, name)) for name in expected} == pytest.approx(expected, abs=1e-12)
    square = SquareTable(table, shift_zeros=False)
    for ours, theirs in ((found.bowker, square.symmetry()), (found.stuart_maxwell, square.homogeneity())):
        assert ours is not None
        assert (ours.statistic, ours.df, ours.p) == pytest.approx((theirs.statistic, theirs.df, theirs.pvalue))


def _ranked(table: np.ndarray) -> list[list[tuple[int, int]]]:
    """For each rater and cell: the rank of the rater's label, and the number of items."""
    return [[(int(cell[rater]), int(table[cell])) for cell in np.ndindex(3, 3)] for rater in (0, 1)]


def test_mcnemar_of_agresti_is_bowkers_test_of_two_labels() -> None:
    found = compare(pairs_of([[794, 150], [86, 570]], labels=TWO), labels=TWO, resamples=1)
    assert found.bowker is not None
    assert (found.bowker.statistic, found.bowker.df) == (pytest.approx(17.356, abs=5e-4), 1)
    assert found.bowker.p == pytest.approx(mcnemar([[794, 150], [86, 570]], exact=False, correction=False).pvalue)


@pytest.mark.parametrize(
    ("matrix", "kappa", "ac1"), [([[40, 9], [6, 45]], 0.6995, 0.70075), ([[80, 10], [5, 5]], 0.3182, 0.8080)]
)
def test_feinstein_and_cicchetti(matrix: list[list[int]], kappa: float, ac1: float) -> None:
    """Both agree on 85 %: kappa falls with the prevalence, AC1 does not, so both are shown."""
    found = compare(pairs_of(matrix, labels=TWO), labels=TWO)
    assert value(found.agreement) == 0.85
    assert (value(found.kappa), value(found.ac1)) == (pytest.approx(kappa, abs=5e-5), pytest.approx(ac1, abs=5e-6))


def test_ac1_counts_the_declared_labels_not_the_used_ones() -> None:
    pairs = [Pair(str(place), "a", *labels) for place, labels in enumerate(zip("11331311", "13331311", strict=True))]
    two, three = (value(compare(pairs, labels=scale, least=8).ac1) for scale in (("1", "3"), ("1", "2", "3")))
    assert (two, three) == (pytest.approx(0.754, abs=5e-4), pytest.approx(0.834, abs=5e-4))


@pytest.mark.parametrize("label", LABELS)
def test_one_label_only_is_undefined_never_one(label: str) -> None:
    found = compare([Pair(str(number), str(number), label, label) for number in range(12)])
    why = f"undefined: both raters use one label only ({label})"
    assert [getattr(found, name) for name in CHANCE_CORRECTED] == [Coefficient(None, None, why)] * 5
    assert found.agreement == Coefficient(1.0, None, "no interval: every paper gives the same value")
    assert (found.bowker, found.stuart_maxwell) == (None, None)


def test_two_groups_of_labels_that_never_mix_have_no_test_of_marginals() -> None:
    matrix = [[3, 2, 0, 0], [1, 3, 0, 0], [0, 0, 3, 4], [0, 0, 1, 3]]
    found = compare(pairs_of(matrix, labels="abcd"), labels=tuple("abcd"))
    assert found.stuart_maxwell is None
    assert found.bowker is not None


@pytest.mark.parametrize(
    ("pairs", "labels", "message"),
    [
        ([Pair("a", "p", "CC", "PASS")], LABELS, "labels \\['PASS'\\] are not on the scale"),
        ([], ("CC",), "at least two different labels"),
        ([], ("CC", "CC"), "at least two different labels"),
    ],
)
def test_invalid_labels_are_refused(pairs: list[Pair], labels: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(pairs, labels=labels)


square_tables = st.sampled_from([2, 3, 4]).flatmap(
    lambda q: st.lists(st.lists(st.integers(0, 12), min_size=q, max_size=q), min_size=q, max_size=q)
)


@settings(deadline=None, max_examples=examples(150))
@given(square_tables)
def test_the_tests_are_those_of_statsmodels(matrix: list[list[int]]) -> None:
    """Bowker's test is over the labels in use, Stuart-Maxwell's over those that differ; the library refuses others."""
    scale = tuple("abcd"[: len(matrix)])
    found, table = compare(pairs_of(matrix, labels=scale), labels=scale, least=1, resamples=1), np.array(matrix)
    differing = table - np.diag(np.diag(table))
    for ours, counted_by, method in (
        (found.bowker, table, "symmetry"),
        (found.stuart_maxwell, differing, "homogeneity"),
    ):
        used = np.flatnonzero(counted_by.sum(0) + counted_by.sum(1))
        if ours is None:
            # Nothing differs, or the labels form groups that never mix.
            assert not differing.any() or (method == "homogeneity" and len(matrix) == 4)
            continue
        theirs = getattr(SquareTable(table[np.ix_(used, used)], shift_zeros=False), method)()
        assert (ours.statistic, ours.df) == (pytest.approx(theirs.statistic, rel=1e-9, abs=1e-12), theirs.df)
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-15)


@settings(deadline=None, max_examples=examples(100))
@given(st.floats(0, 300), st.integers(1, 10))
def test_the_tail_of_chi_square_is_scipys(statistic: float, df: int) -> None:
    assert chi_square_tail(statistic, df) == pytest.approx(chi2.sf(statistic, df), rel=1e-9)


rated = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS), st.integers(0, 7)), min_size=1, max_size=30
).map(lambda rows: [Pair(str(item), str(paper), first, second) for item, (first, second, paper) in enumerate(rows)])


def quick(pairs: list[Pair]) -> PairAgreement:
    return compare(pairs, resamples=40, least=1)


@settings(deadline=None, max_examples=examples(30))
@given(rated)
def test_every_value_and_interval_is_within_its_range(pairs: list[Pair]) -> None:
    lowest = {"agreement": 0, "conflict_share": 0, "ac2": -2}
    found = quick(pairs)
    for name in COEFFICIENTS:
        coefficient = getattr(found, name)
        assert (coefficient.value is None) == coefficient.why.startswith("undefined"), name
        if coefficient.interval is not None:
            assert coefficient.interval.low <= coefficient.interval.high
        shown = [
            coefficient.value,
            *([coefficient.interval.low, coefficient.interval.high] if coefficient.interval else []),
        ]
        least = lowest.get(name, -1) - 1e-12
        assert all(number is None or least <= number <= 1 + 1e-12 for number in shown), name
