"""Describe and format the statistics of raters, for the page and the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from leaderboard.statistics.results import AnnotatorsAgreement, Coefficient, JudgeTrust, PairAgreement, Test

# Field of PairAgreement -> name and meaning.
_SHARES: Final = {
    "agreement": ("Percent agreement", "The share of answers with the same label. Part of it is due to chance."),
    "conflict_share": ("Direct conflicts", "The share with LI from one rater and CC from the other."),
}
_COEFFICIENTS: Final = {
    "kappa": ("Cohen's kappa", "Agreement beyond chance, given each rater's label frequencies; 0 is chance."),
    "quadratic_kappa": ("Quadratic kappa", "The same, but CC against LI weighs four times as much as one step."),
    "alpha": (
        "Krippendorff's ordinal alpha",
        "One minus disagreement divided by disagreement by chance, with labels as an ordered scale.",
    ),
    "ac1": ("Gwet's AC1", "Agreement beyond chance that does not fall if nearly all answers have one label."),
    "ac2": ("Gwet's quadratic AC2", "AC1 with CC against LI weighing four times as much as one step."),
}
_TESTS: Final = {
    "bowker": ("Bowker's test", "Whether disagreements go in one direction more often than in the other."),
    "stuart_maxwell": ("Stuart-Maxwell test", "Whether the raters use the labels equally often."),
}
# With two labels each of these equals another one.
_SAME_OF_TWO_LABELS: Final = {"conflict_share", "quadratic_kappa", "ac2", "stuart_maxwell"}


@dataclass(frozen=True, slots=True)
class Line:
    """One statistic: ``value`` is empty if there is none, ``note`` is its interval or the reason why it has none."""

    name: str
    value: str
    note: str
    meaning: str


def statistic_lines(result: PairAgreement) -> list[Line]:
    """Return the statistics in the order above; with two labels, without those that equal another one."""
    skipped = _SAME_OF_TWO_LABELS if len(result.labels) == 2 else set()
    lines = [
        _coefficient_line(getattr(result, field), *texts[field], written)
        for texts, written in ((_SHARES, _percent), (_COEFFICIENTS, _number))
        for field in texts
        if field not in skipped
    ]
    lines += [_test_line(getattr(result, field), *_TESTS[field]) for field in _TESTS if field not in skipped]
    return lines


def annotators_lines(result: AnnotatorsAgreement) -> list[Line]:
    """Return the agreement among all annotators."""
    return [
        _coefficient_line(result.fleiss, "Fleiss' kappa", "Agreement of any two annotators beyond chance.", _number),
        _coefficient_line(result.alpha, *_COEFFICIENTS["alpha"], _number),
    ]


def accuracy_lines(result: JudgeTrust) -> list[tuple[str, str, Line, Line]]:
    """Return for each label its name, counts in words, the judge's recall, and the judge's precision."""
    return [
        (
            each.label,
            f"{each.truths} in truth, {each.judged} by the judge, {each.right} by both",
            _coefficient_line(each.recall, "Found", "", _percent),
            _coefficient_line(each.precision, "Right", "", _percent),
        )
        for each in result.classes
    ]


def rate_lines(result: JudgeTrust) -> list[Line]:
    """Return the judge's share of CC, as it is and corrected in two ways."""
    return [
        _coefficient_line(result.raw, "Judge's share of CC", "Among the answers that the audit draws from.", _percent),
        _coefficient_line(
            result.prediction_powered,
            "Corrected share of CC",
            "Prediction-powered: corrected by the judge's mean error on randomly audited answers.",
            _percent,
        ),
        _coefficient_line(
            result.rogan_gladen,
            "Corrected by Rogan and Gladen",
            "From the judge's sensitivity and specificity for CC on the same answers.",
            _percent,
        ),
    ]


def sampling_sentence(result: JudgeTrust) -> str:
    """Describe how many randomly audited answers the correction is based on."""
    waiting = f", {result.waiting} more are not closed yet" if result.waiting else ""
    return f"{result.sampled} of {result.population} judged answers were audited at random and closed{waiting}."


def _coefficient_line(coefficient: Coefficient, name: str, meaning: str, written: Callable[[float], str]) -> Line:
    value, interval = coefficient.value, coefficient.interval
    return Line(
        name=name,
        value="" if value is None else written(value),
        note=f"{written(interval.low)} to {written(interval.high)}" if interval else coefficient.why,
        meaning=meaning,
    )


def _test_line(test: Test | None, name: str, meaning: str) -> Line:
    if test is None:
        return Line(name, "", "not computed: too few answers, or too few that differ", meaning)
    chance = "p < 0.001" if test.p < 0.001 else f"p = {test.p:.3f}"
    return Line(name, f"{test.statistic:.2f}", f"{test.df} df, {chance}", meaning)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _number(value: float) -> str:
    return f"{value:.3f}"
