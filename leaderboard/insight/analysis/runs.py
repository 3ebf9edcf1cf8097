"""Columns, descriptions and points of runs, which the figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.urls import reverse

from leaderboard.insight.analysis import charts
from leaderboard.insight.analysis.charts import Point, Series
from leaderboard.insight.analysis.figure import Column
from submissions.enums import Inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leaderboard.insight.analysis.data import ScoreRow, SuiteResults

FULL: Final = Inputs.FULL.label
SYSTEM: Final = Column("system", "System")
SOURCE: Final = Column("source", "By")
INPUTS: Final = Column("inputs", "Inputs given")
TESTS: Final = (
    Column("tests_percent", "Tests, %", 1),
    Column("tests_low", "95 % from", 1),
    Column("tests_high", "to", 1),
)
LEAST_RUNS: Final = 3
"""A chart that places runs by another of their properties needs at least this many."""
NOTHING: Final = "nothing is published on this version yet"


def address(row: ScoreRow) -> str:
    """Return the address of a run's page."""
    return reverse("reported_run", args=[row.run]) if row.run else reverse("submission", args=[row.submission])


def description(row: ScoreRow) -> str:
    """Describe a run's score with its interval, for a point of a chart."""
    interval = "" if row.low is None else f", 95 % interval {row.low:.1f} to {row.high:.1f}"
    return f"{row.system} ({row.provenance.label}): {row.tests:.1f} % of tests{interval}"


def point(row: ScoreRow, at: float, *, text: str = "") -> Point:
    """Make the point of a run with tests; ``text`` describes it, if not its score alone."""
    return Point(at, row.tests or 0.0, text or description(row), row.low, row.high)


def by_source(rows: Iterable[ScoreRow], make: Callable[[int, ScoreRow], Point]) -> list[Series]:
    """Make a series of measured runs and one of reported ones, if there are any; ``make`` gets a row's place."""
    kinds = (("measured here", False, charts.GOOD, "circle"), ("reported", True, charts.GOOD, "diamond"))
    placed = list(enumerate(rows))
    return [
        Series(name, points, color, symbol)
        for name, reported, color, symbol in kinds
        if (points := [make(place, row) for place, row in placed if row.reported == reported])
    ]


def chart_note(known: int) -> tuple[str, ...]:
    """Describe how much of a long table the chart shows."""
    return (f"The chart shows the first {charts.MOST_ROWS} of {known}.",) if known > charts.MOST_ROWS else ()


def computed_note(results: SuiteResults) -> tuple[str, ...]:
    """Describe when a job computed the figure's data."""
    return (results.report.note,) if results.report.note else ()


def few_runs(rows: Sequence[ScoreRow], fact: str) -> str:
    """Return why runs whose ``fact`` is known are too few for a chart; empty if there are enough."""
    number = len(rows)
    if number >= LEAST_RUNS:
        return ""
    if number > 1:
        return f"only {number} published runs state {fact}"
    return f"{'only one' if number else 'no'} published run states {fact}"
