"""Types of the statistics' inputs and results. Cheap to import: pages use it to show stored results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import model_serializer
from typing_extensions import TypedDict

from evaluator.labels import Label

LABELS = tuple(label.value for label in Label)
"""The labels as an ordinal scale, best first."""

LEAST_ITEMS = 10
"""Least number of shared items for a coefficient: even with 28 items an interval of kappa is .53 wide."""


PairCounts: TypeAlias = Mapping[tuple[str, str, str], int]
"""(paper, first rater's label, second rater's) -> number of items. Items of one paper are not independent."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % confidence interval, on the scale of its coefficient."""

    low: float
    high: float


class FlatCoefficient(TypedDict):
    """A number with its 95 % interval, or ``why`` there is none."""

    value: float | None
    low: float | None
    high: float | None
    why: str


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A number with its interval, or the reason why there is none.

    ``why`` begins with "undefined: " or "too few " where there is no value, with "no interval: " where there is a
    value without an interval, and is empty otherwise.
    """

    value: float | None
    interval: Interval | None
    why: str = ""

    @model_serializer
    def flat(self) -> FlatCoefficient:
        """As the API shows it."""
        low, high = (self.interval.low, self.interval.high) if self.interval else (None, None)
        return {"value": self.value, "low": low, "high": high, "why": self.why}


@dataclass(frozen=True, slots=True)
class Test:
    """A chi-square test that the raters use the labels alike; it assumes independent items."""

    __test__ = False

    statistic: float
    df: int
    p: float


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """The agreement of two raters on the items that both rated.

    ``matrix`` counts items, rows for the first rater's label and columns for the second's, both in the order of
    ``labels``; ``marginals`` are its row sums and its column sums. ``conflicts`` counts items with the first label from
    one rater and the last from the other (CC against LI).
    """

    n: int
    clusters: int
    labels: tuple[str, ...]
    matrix: tuple[tuple[int, ...], ...]
    marginals: tuple[tuple[int, ...], tuple[int, ...]]
    agreement: Coefficient
    conflicts: int
    conflict_share: Coefficient
    kappa: Coefficient
    quadratic_kappa: Coefficient
    alpha: Coefficient
    ac1: Coefficient
    ac2: Coefficient
    bowker: Test | None
    stuart_maxwell: Test | None


@dataclass(frozen=True, slots=True)
class ClassAccuracy:
    """A judge's accuracy for one label, against the true labels.

    ``truths`` items truly have the label, the judge gives it to ``judged`` items, and ``right`` items are in both.
    ``recall`` is ``right`` out of ``truths``, ``precision`` is ``right`` out of ``judged``. Intervals are Wilson's.
    """

    label: str
    truths: int
    judged: int
    right: int
    recall: Coefficient
    precision: Coefficient


@dataclass(frozen=True, slots=True)
class AnnotatorsAgreement:
    """All annotators together: their number, answers with two labels or more, and their agreement."""

    number: int
    n: int
    fleiss: Coefficient
    alpha: Coefficient


@dataclass(frozen=True, slots=True)
class JudgeTrust:
    """One judge against annotators' final labels, and its share of CC, corrected.

    ``n`` answers have both a final label and this judge's verdict, an abstention for ``abstained`` of them. The
    correction concerns ``population`` judged answers. The audit drew ``sampled`` of them that are closed and
    ``waiting`` that are still open; ``raw`` is the judge's share of CC.
    """

    n: int
    abstained: int
    classes: tuple[ClassAccuracy, ...]
    population: int
    sampled: int
    waiting: int
    raw: Coefficient
    prediction_powered: Coefficient
    rogan_gladen: Coefficient


@dataclass(frozen=True, slots=True)
class TaskCount:
    """A model's numbers of passed and failed answers to a task. ``metrics`` are the repository's, None if unknown."""

    task: str
    paper: str
    model: str
    passes: int
    fails: int
    metrics: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Term:
    """One coefficient with its plain standard error, and the error clustered by paper (None with one paper)."""

    name: str
    coefficient: float
    error: float
    z: float
    p: float
    low: float
    high: float
    clustered_error: float | None
    clustered_p: float | None


@dataclass(frozen=True, slots=True)
class Regression:
    """A logistic regression of passing; without ``terms``, ``why`` is the reason.

    ``left_out`` lists the predictors that were not used, each with its reason.
    """

    answers: int
    passes: int
    tasks: int
    papers: int
    reference: str
    terms: tuple[Term, ...]
    left_out: tuple[str, ...]
    why: str = ""
