"""More than two raters, with gaps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from leaderboard.agreement.coefficients import Level
from leaderboard.agreement.raters import ac1, fleiss, ordinal_alpha
from leaderboard.agreement.types import Coefficient
from tests.leaderboard.agreement.rated import UPSTREAM, pairs_of, ratings_of_counts, ratings_of_rows

# One character per label: how many of six raters gave it, item by item.
FLEISS_1971 = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
FOURTEEN_RATERS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
KRIPPENDORFF_2011 = ratings_of_rows(["123321412***", "1233224125*3", "*3332342251*", "12332441251*"])
FIVE = tuple("12345")
Statistic = Callable[..., Coefficient]


def value(coefficient: Coefficient) -> float:
    assert coefficient.value is not None
    return coefficient.value


def test_fleiss_1971() -> None:
    ratings = ratings_of_counts([[int(count) for count in row] for row in FLEISS_1971.split()], FIVE)
    assert value(fleiss(ratings, labels=FIVE)) == pytest.approx(0.43024, abs=5e-6)


def test_fleiss_of_fourteen_raters() -> None:
    ratings = ratings_of_counts(FOURTEEN_RATERS, FIVE)
    assert value(fleiss(ratings, labels=FIVE)) == pytest.approx(0.20993, abs=5e-6)


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.7434), ("ordinal", 0.8154), ("interval", 0.8491), ("ratio", 0.7974)]
)
def test_krippendorff_2011(level: Level, alpha: float) -> None:
    """Ordinal is Krippendorff's .815, not the .834 of Gwet's ordinal weights."""
    assert value(ordinal_alpha(KRIPPENDORFF_2011, labels=FIVE, level=level)) == pytest.approx(alpha, abs=5e-5)


def test_gwets_coefficients_of_the_same_data() -> None:
    """Not everybody rates every item, which statsmodels' fleiss_kappa refuses."""
    assert value(ac1(KRIPPENDORFF_2011, labels=FIVE)) == pytest.approx(0.77544, abs=5e-6)
    assert value(fleiss(KRIPPENDORFF_2011, labels=FIVE)) == pytest.approx(0.76117, abs=5e-6)


def test_a_missing_label_is_no_label() -> None:
    """A third rater of a single item that nobody else rated changes no alpha: gaps are never a category."""
    lonely = {**KRIPPENDORFF_2011, "other": {"elsewhere": "5"}}
    assert ordinal_alpha(lonely, labels=FIVE).value == ordinal_alpha(KRIPPENDORFF_2011, labels=FIVE).value


def test_two_raters_are_those_of_a_pair() -> None:
    pairs = pairs_of(UPSTREAM, clusters=23)
    ratings = {"human": {p.item: p.first for p in pairs}, "judge": {p.item: p.second for p in pairs}}
    papers = {pair.item: pair.cluster for pair in pairs}
    alpha, gwet = ordinal_alpha(ratings, clusters=papers), ac1(ratings, clusters=papers)
    assert (value(alpha), value(gwet)) == (pytest.approx(0.531, abs=5e-4), pytest.approx(0.468, abs=5e-4))
    for coefficient in (alpha, gwet):
        assert coefficient.interval is not None
        assert coefficient.interval.low < value(coefficient) < coefficient.interval.high


def test_papers_are_drawn_where_they_are_known() -> None:
    """Copies of an item within its paper do not make the interval narrower; as items of their own they would."""
    rows = ["123321112233", "123322112133", "123321212233"]
    ratings = ratings_of_rows(rows)
    copies = {
        rater: {f"{item} {copy}": label for item, label in rated.items() for copy in range(4)}
        for rater, rated in ratings.items()
    }
    papers = {item: item.rsplit(" ", 1)[0] for item in copies["rater 0"]}
    once, clustered, apart = (
        fleiss(ratings, labels=FIVE).interval,
        fleiss(copies, clusters=papers, labels=FIVE).interval,
        fleiss(copies, labels=FIVE).interval,
    )
    assert once is not None
    assert clustered is not None
    assert apart is not None
    assert (clustered.low, clustered.high) == (pytest.approx(once.low), pytest.approx(once.high))
    assert apart.high - apart.low < 0.7 * (once.high - once.low)


@pytest.mark.parametrize("coefficient", [fleiss, ac1, ordinal_alpha])
class TestEachCoefficient:
    def test_one_label_only_is_undefined_never_one(self, coefficient: Statistic) -> None:
        found = coefficient(ratings_of_rows(["1" * 12] * 3), labels=FIVE)
        assert found == Coefficient(None, None, "undefined: all raters use one label only")

    def test_counts_only_items_that_two_people_rated(self, coefficient: Statistic) -> None:
        """Twelve items, nine of them shared."""
        found = coefficient(ratings_of_rows(["123123123***", "123123123123"]), labels=FIVE)
        assert found == Coefficient(None, None, "too few shared items (9 of at least 10)")

    def test_nothing_rated(self, coefficient: Statistic) -> None:
        assert coefficient({}).why == "too few shared items (0 of at least 10)"

    def test_order_of_raters_and_items_changes_nothing(self, coefficient: Statistic) -> None:
        raters = reversed(KRIPPENDORFF_2011.items())
        shuffled = {rater: dict(reversed(rated.items())) for rater, rated in raters}
        assert coefficient(shuffled, labels=FIVE) == coefficient(KRIPPENDORFF_2011, labels=FIVE)

    def test_refuses_a_label_outside_the_scale(self, coefficient: Statistic) -> None:
        with pytest.raises(ValueError, match="rater 0 gives item 'item 03' the label '3'"):
            coefficient(ratings_of_rows(["1223", "1223"]), labels=("1", "2"))
