"""More than two raters, with gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa

from leaderboard.statistics.coefficients import Level
from leaderboard.statistics.estimates import fleiss, ordinal_alpha
from leaderboard.statistics.results import Coefficient
from tests.conftest import examples
from tests.leaderboard.statistics.rated import counted_items, ratings_of_rows

# One character per label: how many of six raters gave it, item by item.
FLEISS_1971 = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
FIVE = tuple("12345")
RATERS_2011 = ratings_of_rows(["123321412***", "1233224125*3", "*3332342251*", "12332441251*"])
KRIPPENDORFF_2011 = counted_items(RATERS_2011, FIVE)
Statistic = Callable[..., Coefficient]


def items_of(rows: Sequence[Sequence[int]]) -> Counter[tuple[str, tuple[int, ...]]]:
    """One row an item: how many raters give it each label. Each item is a paper of its own."""
    return Counter((str(number), tuple(row)) for number, row in enumerate(rows))


def items_of_raters(*rows: str) -> Counter[tuple[str, tuple[int, ...]]]:
    return counted_items(ratings_of_rows(rows), FIVE)


def value(coefficient: Coefficient) -> float:
    assert coefficient.value is not None
    return coefficient.value


def test_fleiss_1971() -> None:
    assert value(fleiss(items_of([[int(count) for count in row] for row in FLEISS_1971.split()]))) == pytest.approx(
        0.43024, abs=5e-6
    )


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.7434), ("ordinal", 0.8154), ("interval", 0.8491), ("ratio", 0.7974)]
)
def test_krippendorff_2011(level: Level, alpha: float) -> None:
    """Ordinal is Krippendorff's .815, not the .834 of Gwet's ordinal weights."""
    assert value(ordinal_alpha(KRIPPENDORFF_2011, level=level)) == pytest.approx(alpha, abs=5e-5)


def test_fleiss_of_the_same_data() -> None:
    """Some raters skip items, which statsmodels' fleiss_kappa refuses."""
    assert value(fleiss(KRIPPENDORFF_2011)) == pytest.approx(0.76117, abs=5e-6)


@pytest.mark.parametrize("coefficient", [fleiss, ordinal_alpha])
class TestEachCoefficient:
    def test_one_label_only_is_undefined_never_one(self, coefficient: Statistic) -> None:
        found = coefficient(items_of_raters(*["1" * 12] * 3))
        assert found == Coefficient(None, None, "undefined: all raters use one label only")

    def test_counts_only_items_that_two_raters_labelled(self, coefficient: Statistic) -> None:
        """Twelve items, nine of them shared."""
        found = coefficient(items_of_raters("123123123***", "123123123123"))
        assert found == Coefficient(None, None, "too few shared items (9 of at least 10)")


def few_papers(rows: Sequence[Sequence[int]]) -> Counter[tuple[str, tuple[int, ...]]]:
    """Items of six papers; equal items of a paper are counted together, as the database does."""
    return Counter((str(number % 6), tuple(row)) for number, row in enumerate(rows))


given_labels = st.lists(st.lists(st.sampled_from("123*"), min_size=4, max_size=4), min_size=10, max_size=40)


def varied(rows: list[list[str]]) -> bool:
    """Whether shared items have more than one label."""
    shared = [[label for label in row if label != "*"] for row in rows]
    return len({label for row in shared if len(row) > 1 for label in row}) > 1


@settings(deadline=None, max_examples=examples(50))
@given(given_labels.filter(varied), st.sampled_from(["nominal", "ordinal"]))
def test_alpha_of_gaps_is_what_the_krippendorff_package_computes(rows: list[list[str]], level: Level) -> None:
    ratings = [[np.nan if label == "*" else int(label) for label in rater] for rater in zip(*rows, strict=True)]
    theirs = krippendorff.alpha(reliability_data=ratings, value_domain=[1, 2, 3], level_of_measurement=level)
    items = few_papers([[row.count(label) for label in "123"] for row in rows if set(row) != {"*"}])
    assert value(ordinal_alpha(items, level=level, resamples=10, least=1)) == pytest.approx(theirs, abs=1e-12)


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.lists(st.sampled_from("123"), min_size=4, max_size=4), min_size=10, max_size=40).filter(varied))
def test_fleiss_without_gaps_is_what_statsmodels_computes(rows: list[list[str]]) -> None:
    counts = [[row.count(label) for label in "123"] for row in rows]
    found = fleiss(few_papers(counts), resamples=10)
    assert value(found) == pytest.approx(fleiss_kappa(np.array(counts)), abs=1e-12)
