"""What the analysis of a suite is made of: figures with their tables, and the fit of the regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

Cell: TypeAlias = "str | int | float | date | None"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: ``key`` in exported data, and with how many ``digits`` pages write its numbers.

    Columns of words have no ``digits``.
    """

    key: str
    title: str
    digits: int | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One table, with the chart that is drawn from it.

    ``rows`` may be the first of ``known`` ones (0: they are all there are); ``addresses`` are their pages, empty where
    a row has none. ``notes`` are about these data; ``differences`` say where upstream's files and the paper disagree.
    ``missing`` says why there is nothing, or what is left out. ``chart`` makes Plotly's JSON; None without one.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    addresses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    missing: str = ""
    known: int = 0
    chart: Callable[[], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One published run, with its overall numbers in percent; None where a rater said nothing.

    ``judge`` and ``human`` are the percentages of CC, LC and LI, read for rows that are shown; ``labelled`` says
    whether there are any. ``submission`` is None for a reported run, ``run`` empty for a measured one.
    ``cost`` is in US dollars for all tasks once.
    """

    entry: int
    submission: int | None
    run: str
    system: str
    backbone: str
    inputs: str
    day: date | None
    cost: float | None
    tasks: int
    passed: float | None
    tests: float | None
    low: float | None
    high: float | None
    labelled: bool
    judge: tuple[float, float, float] | None = None
    human: tuple[float, float, float] | None = None

    @property
    def reported(self) -> bool:
        """Whether others reported it; else this site measured it."""
        return bool(self.run)

    @property
    def provenance(self) -> str:
        """Who measured it, in one word."""
        return "reported" if self.reported else "measured"


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
