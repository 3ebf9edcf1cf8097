"""Inputs and results of the statistics. Light to import: pages show stored results with it."""

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
"""Below as many shared items no coefficient is shown: at 28 items an interval of kappa is already .53 wide."""


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
    """A chi-square test that the raters use the labels alike; it takes the items for independent."""

    __test__ = False

    statistic: float
    df: int
    p: float


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters on the items that both rated.

    ``matrix`` counts items, rows for the first rater's label and columns for the second's, both in the order of
    ``labels``; ``marginals`` are its row sums and its column sums. ``conflicts`` counts items that one rater gives
    the first label and the other the last (CC against LI).
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
    """How a judge does on one label, counted against the truth.

    ``recall`` is the share of the ``truths`` items of this label that the judge gives it, ``precision`` the share of
    the ``judged`` items given this label that deserve it. Intervals are Wilson's.
    """

    label: str
    truths: int
    judged: int
    right: int
    recall: Coefficient
    precision: Coefficient


@dataclass(frozen=True, slots=True)
class AnnotatorsAgreement:
    """All annotators together: how many they are, answers with two labels or more, and their agreement."""

    number: int
    n: int
    fleiss: Coefficient
    alpha: Coefficient


@dataclass(frozen=True, slots=True)
class JudgeTrust:
    """One judge against the final labels that annotators closed, and the share of CC that it reports put right.

    ``n`` answers have both a final label and this judge's word, which was an abstention for ``abstained`` of them. The
    correction is about ``population`` judged answers, of which the audit drew ``sampled`` that are closed and
    ``waiting`` that are not; ``raw`` is the share of CC that the judge gives them.
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
    """How many answers to a task a model passed, and failed. ``metrics`` are the repository's, None where unknown."""

    task: str
    paper: str
    model: str
    passes: int
    fails: int
    metrics: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Term:
    """One coefficient with its plain error, and the error clustered by paper (None with one paper)."""

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
    """A logistic regression of passing; without ``terms``, ``why`` says in words why it has no numbers.

    ``left_out`` names the predictors that were not used, each with its reason.
    """

    answers: int
    passes: int
    tasks: int
    papers: int
    reference: str
    terms: tuple[Term, ...]
    left_out: tuple[str, ...]
    why: str = ""
