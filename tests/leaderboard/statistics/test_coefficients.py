"""The coefficients over stacks of tables, against the libraries that compute them one at a time."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from leaderboard.statistics import coefficients
from tests.conftest import examples
from tests.leaderboard.statistics.rated import UPSTREAM

FLEISS_LEVIN_PAIK = np.array([[75.0, 1, 4], [5, 4, 1], [0, 0, 10]])
LINEAR = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])

tables = st.lists(st.integers(0, 9), min_size=9, max_size=9).map(
    lambda counts: np.array(counts, dtype=float).reshape(3, 3)
)
varied_tables = tables.filter(lambda table: ((table.sum(0) + table.sum(1)) > 0).sum() > 1)


@pytest.mark.parametrize(
    ("weights", "kappa"),
    [(coefficients.identity_weights(3), 0.67647), (LINEAR, 0.72222), (coefficients.quadratic_weights(3), 0.75532)],
    ids=["unweighted", "linear", "quadratic"],
)
def test_kappa_of_fleiss_levin_and_paik(weights: np.ndarray, kappa: float) -> None:
    assert float(coefficients.cohen(FLEISS_LEVIN_PAIK, weights)) == pytest.approx(kappa, abs=5e-6)


def test_kappa_of_two_labels() -> None:
    assert float(coefficients.cohen(np.array([[20.0, 5], [10, 15]]), coefficients.identity_weights(2))) == (
        pytest.approx(0.4)
    )


@pytest.mark.parametrize(
    ("table", "ac1", "ac2"),
    [(FLEISS_LEVIN_PAIK, 0.86757, 0.91304), (np.array(UPSTREAM, dtype=float), 0.46773, 0.59621)],
)
def test_gwets_coefficients_are_what_irrcac_computes(table: np.ndarray, ac1: float, ac2: float) -> None:
    """Values of irrCAC 0.4.4, ``CAC(table, weights=…).gwet()``, with identity and with quadratic weights."""
    for weights, expected in ((coefficients.identity_weights(3), ac1), (coefficients.quadratic_weights(3), ac2)):
        assert float(coefficients.gwet(table, weights)) == pytest.approx(expected, abs=5e-6)


@settings(deadline=None, max_examples=examples(50))
@given(varied_tables)
def test_kappa_is_what_statsmodels_computes(table: np.ndarray) -> None:
    ours = coefficients.cohen(table, coefficients.quadratic_weights(3))
    assert float(ours) == pytest.approx(cohens_kappa(table, weights=np.arange(3), return_results=False, wt="quadratic"))


@settings(deadline=None, max_examples=examples(50))
@given(varied_tables, st.sampled_from(["nominal", "ordinal", "interval", "ratio"]))
def test_stacked_alpha_is_what_the_krippendorff_package_computes(table: np.ndarray, level: coefficients.Level) -> None:
    ratings = [
        [1 + rank for rank, count in zip(place, table.ravel(), strict=True) for _ in range(int(count))]
        for place in zip(*np.ndindex(3, 3), strict=True)
    ]
    theirs = krippendorff.alpha(reliability_data=ratings, value_domain=[1, 2, 3], level_of_measurement=level)
    stack = coefficients.coincidences(np.stack([table, 2 * table]))
    assert float(coefficients.krippendorff_alpha(stack, level)[0]) == pytest.approx(theirs, abs=1e-12)


def test_each_table_of_a_stack_is_computed_separately() -> None:
    """The second table has one label only, and the third is empty: neither has a chance-corrected value."""
    stack = np.stack([FLEISS_LEVIN_PAIK, np.diag([5.0, 0, 0]), np.zeros((3, 3))])
    same = coefficients.identity_weights(3)
    for values in (
        coefficients.cohen(stack, same),
        coefficients.gwet(stack, same),
        coefficients.krippendorff_alpha(coefficients.coincidences(stack)),
    ):
        assert np.isnan(values).tolist() == [False, True, True]
    assert coefficients.agreement(stack)[:2].tolist() == [0.89, 1.0]
    assert coefficients.conflict_share(stack)[:2].tolist() == [0.04, 0.0]
