"""Make the figures that place runs by cost, by their model's knowledge cutoff, and by the day of publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaderboard.insight.analysis import axes, charts, findings
from leaderboard.insight.analysis.charts import Plane, Point, Series
from leaderboard.insight.analysis.figure import Column, Figure
from leaderboard.insight.analysis.runs import (
    FULL,
    INPUTS,
    LEAST_RUNS,
    SOURCE,
    SYSTEM,
    TESTS,
    address,
    by_source,
    description,
    few_runs,
    point,
)
from leaderboard.statistics.records import pareto_front, records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.insight.analysis.data import ScoreRow, SuiteResults


def cost(results: SuiteResults) -> Figure:
    """Compare scores with costs, and mark the runs on the Pareto front."""
    every = [row for row in results.rows if row.tests is not None and row.cost is not None]
    points = [(row.cost or 0.0, row.tests or 0.0) for row in every]
    front = pareto_front(points)
    ordered = sorted(range(len(every)), key=lambda place: (points[place][0], -points[place][1]))
    best = [place for place in ordered if place in front]
    placed = best + [place for place in ordered if place not in front]
    shown = placed[: results.most]
    enough = len(every) >= LEAST_RUNS
    return Figure(
        columns=(
            SYSTEM,
            INPUTS,
            Column("cost_usd", "US $, all tasks once", 2),
            *TESTS,
            Column("on_front", "On the front"),
        ),
        rows=tuple(
            (
                *(every[place].system, every[place].inputs, points[place][0]),
                *(every[place].tests, every[place].low, every[place].high),
                "yes" if place in front else "no",
            )
            for place in shown
        ),
        finding=findings.best_for_their_cost([every[place].system for place in best], len(every)) if enough else "",
        addresses=tuple(address(every[place]) for place in shown),
        known=len(every),
        notes=_points_note(len(every)),
        missing=few_runs(every, "the cost of all answers"),
        chart=_cost_chart([every[place] for place in placed[: charts.MOST_POINTS]], len(best)) if enough else None,
    )


def _cost_chart(rows: Sequence[ScoreRow], best: int) -> Plane:
    """Draw the runs; the first ``best`` of ``rows`` are on the front."""

    def points(chosen: Sequence[ScoreRow]) -> list[Point]:
        return [point(row, row.cost or 0.0, text=f"{description(row)}, US $ {row.cost:.2f}") for row in chosen]

    series = [Series("no cheaper run is as good", points(rows[:best]), charts.GOOD)]
    if rows[best:]:
        series.append(Series("others", points(rows[best:]), charts.MUTED, "ring"))
    return Plane(
        series,
        axes.dollars("US $ for all tasks once", [row.cost or 0.0 for row in rows]),
        axes.percent("% of tasks passed"),
        [(row.cost or 0.0, row.tests or 0.0) for row in rows[:best]],
        "frontier",
    )


def cutoff(results: SuiteResults) -> Figure:
    """Compare scores with the knowledge cutoffs of models, as submitters and the shipped results state them."""
    every = [row for row in results.rows if row.tests is not None and row.cutoff and row.inputs == FULL]
    ordered = sorted(every, key=lambda row: row.cutoff, reverse=True)
    shown = ordered[: results.most]
    months = {row.cutoff for row in every}
    missing = few_runs(every, "the knowledge cutoff of the model")
    if not missing and len(months) == 1:
        missing = f"all models with a known knowledge cutoff have the same, {months.pop()}"
    return Figure(
        columns=(SYSTEM, SOURCE, Column("backbone", "Model"), Column("knowledge_cutoff", "Knowledge cutoff"), *TESTS),
        rows=tuple(
            (row.system, row.provenance.label, row.backbone, row.cutoff, row.tests, row.low, row.high) for row in shown
        ),
        finding=""
        if missing
        else findings.later_is_better((axes.month_number(row.cutoff), row.tests or 0.0) for row in every),
        addresses=tuple(map(address, shown)),
        known=len(every),
        notes=_points_note(len(every)),
        missing=missing,
        chart=None if missing else _cutoff_chart(ordered[: charts.MOST_POINTS]),
    )


def _cutoff_chart(rows: Sequence[ScoreRow]) -> Plane:
    shared: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        shared.setdefault(row.cutoff, []).append(place)

    def at(place: int, row: ScoreRow) -> float:
        # Models with the same cutoff are drawn beside each other, within their month.
        beside = shared[row.cutoff]
        return axes.month_number(row.cutoff) + (beside.index(place) - (len(beside) - 1) / 2) * 0.8 / len(beside)

    series = by_source(
        rows, lambda place, row: point(row, at(place, row), text=f"{description(row)}; cutoff {row.cutoff}")
    )
    across = axes.months("the model's knowledge cutoff", [row.cutoff for row in rows])
    return Plane(series, across, axes.percent("% of tasks passed"))


def history(results: SuiteResults) -> Figure:
    """List scores in the order of publication, with the record at each time."""
    dated = sorted(
        (row for row in results.rows if row.day and row.tests is not None and row.inputs == FULL),
        key=lambda row: (row.day, row.entry),
    )
    best = records([row.tests or 0.0 for row in dated])
    places = range(len(dated))
    # The newest first, in files as well: on pages there may be more than are shown.
    shown = places[::-1][: results.most]
    reported = sum(row.reported for row in results.rows)
    return Figure(
        columns=(Column("date", "Published"), SYSTEM, *TESTS, Column("record_percent", "Best until then, %", 1)),
        rows=tuple(
            (
                dated[place].day,
                dated[place].system,
                dated[place].tests,
                dated[place].low,
                dated[place].high,
                best[place],
            )
            for place in shown
        ),
        finding=findings.record([f"{row.day}" for row in dated], best),
        addresses=tuple(address(dated[place]) for place in shown),
        known=len(dated),
        notes=(
            *((f"Left out without a date: {reported} reported.",) if reported else ()),
            *_points_note(len(dated)),
        ),
        missing="" if dated else "no run measured here is published",
        chart=_history_chart(dated, best) if dated else None,
    )


def _history_chart(rows: Sequence[ScoreRow], best: Sequence[float]) -> Plane:
    days = [row.day for row in rows if row.day]
    newest = list(zip(days, rows, strict=True))[-charts.MOST_POINTS :]
    points = [point(row, day.toordinal(), text=f"{day}: {description(row)}") for day, row in newest]
    # Only the steps: a line through every run would be larger than the rest of the page.
    steps = {best.index(score) for score in set(best)} | {len(best) - 1}
    line = [(float(days[place].toordinal()), best[place]) for place in sorted(steps)]
    series = Series("published runs", points, charts.GOOD)
    return Plane([series], axes.days("published", days), axes.percent("% of tasks passed"), line, "record")


def _points_note(known: int) -> tuple[str, ...]:
    return (f"The chart shows {charts.MOST_POINTS} of {known} runs.",) if known > charts.MOST_POINTS else ()
