"""Make the figures from the board's rows: Tables 2, 3 and 6, Figure 2, categories, cost and history."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from django.urls import reverse

from leaderboard.insight.analysis import charts
from leaderboard.insight.analysis.charts import Part, Series
from leaderboard.insight.analysis.figure import Column, Figure
from leaderboard.insight.analysis.paper import SUITE, TABLE_6
from leaderboard.statistics.records import pareto_front, records, widest_interval
from submissions.enums import Inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leaderboard.insight.analysis.data import ScoreRow, SuiteResults

_FULL: Final = Inputs.FULL.label
_SYSTEM: Final = Column("system", "System")
_SOURCE: Final = Column("source", "By")
_INPUTS: Final = Column("inputs", "Inputs given")
_TESTS: Final = (
    Column("tests_percent", "Tests, %", 1),
    Column("tests_low", "95 % from", 1),
    Column("tests_high", "to", 1),
)
_JUDGE: Final = tuple(Column(f"judge_{label}_percent", f"Judge {label}, %", 1) for label in ("CC", "LC", "LI"))
_HUMAN: Final = tuple(
    Column(f"annotators_{label}_percent", f"Annotators {label}, %", 1) for label in ("CC", "LC", "LI")
)
_MEASURES: Final = {
    "tests": "unit tests",
    **{f"judge_{label}": f"judge {label}" for label in ("CC", "LC", "LI")},
    **{f"human_{label}": f"annotators {label}" for label in ("CC", "LC", "LI")},
}


def scores(results: SuiteResults) -> Figure:
    """Make Table 2: every run with full inputs, by every rater."""
    every = [row for row in results.rows if row.inputs == _FULL]
    printed = results.printed
    rows = results.with_labels(every[: results.most])
    columns = (_SYSTEM, _SOURCE, *_TESTS, *_JUDGE, *_HUMAN)
    paper = any("tests" in printed.get(row.run, {}) for row in every)
    columns += (Column("paper_tests_percent", "Paper: tests, %", 1),) if paper else ()
    tested = [row for row in rows if row.tests is not None][: charts.MOST_ROWS]
    return Figure(
        columns=columns,
        rows=tuple(
            (
                row.system,
                row.provenance.label,
                row.tests,
                row.low,
                row.high,
                *(row.judge or _NONE),
                *(row.human or _NONE),
            )
            + ((printed.get(row.run, {}).get("tests"),) if paper else ())
            for row in rows
        ),
        addresses=tuple(map(address, rows)),
        known=len(every),
        notes=(*widest_interval([row.tasks for row in tested]), *_chart_note(len(every))),
        differences=_differences(results, every),
        missing="" if rows else _NOTHING,
        chart=partial(_interval_chart, tested) if tested else None,
    )


def inputs(results: SuiteResults) -> Figure:
    """Make Table 3: systems that were run with reduced inputs, beside their runs with full inputs."""
    order = {label: place for place, label in enumerate((*_REDUCED, _FULL))}
    groups: dict[tuple[str, bool], list[ScoreRow]] = {}
    for row in results.rows:
        groups.setdefault((row.system, row.reported), []).append(row)
    found = [group for group in groups.values() if {row.inputs for row in group} - {_FULL}]
    ordered = [sorted(group, key=lambda row: order[row.inputs]) for group in found]
    every = [row for group in ordered for row in group]
    rows = results.with_labels(every[: results.most])
    return Figure(
        columns=(_SYSTEM, _SOURCE, _INPUTS, *_TESTS, *_JUDGE),
        rows=tuple(
            (row.system, row.provenance.label, row.inputs, row.tests, row.low, row.high, *(row.judge or _NONE))
            for row in rows
        ),
        addresses=tuple(map(address, rows)),
        known=len(every),
        notes=(f"The chart shows the first {_LINES} of {len(found)} systems.",) if len(found) > _LINES else (),
        differences=_differences(results, [row for row in every if row.inputs != _FULL]),
        missing="" if rows else "No published run on this version was given reduced inputs.",
        chart=partial(_inputs_chart, ordered[:_LINES]) if rows else None,
    )


def binary(results: SuiteResults) -> Figure:
    """Make Table 6: completely correct against the rest."""
    printed = TABLE_6 if results.version.suite.slug == SUITE else {}
    every = [row for row in results.rows if row.inputs == _FULL and row.labelled]
    rows = results.with_labels(every[: results.most])
    columns = (
        _SYSTEM,
        _SOURCE,
        _TESTS[0],
        *(_JUDGE[0], Column("judge_rest_percent", "Judge: the rest, %", 1)),
        *(_HUMAN[0], Column("annotators_rest_percent", "Annotators: the rest, %", 1)),
        *((Column("paper_cc_percent", "Paper's Table 6: CC, %", 1),) if printed else ()),
    )
    lines = tuple(
        (row.system, row.provenance.label, row.tests, *_cc_and_rest(row.judge), *_cc_and_rest(row.human))
        + ((printed.get(row.run),) if printed else ())
        for row in rows
    )
    differing = sum(1 for row in rows if row.judge and abs(printed.get(row.run, row.judge[0]) - row.judge[0]) >= 0.1)
    return Figure(
        columns=columns,
        rows=lines,
        addresses=tuple(map(address, rows)),
        known=len(every),
        notes=_chart_note(len(every)),
        differences=(_TABLE_6.format(differing, len(printed)),) if differing else (),
        missing="" if rows else "No published run on this version has labels.",
        chart=partial(_binary_chart, rows[: charts.MOST_ROWS], printed) if rows else None,
    )


def tasks(results: SuiteResults) -> Figure:
    """Make Figure 2: the number of tasks in each category."""
    found = results.categories
    total = sum(each.tasks for each in found)
    return Figure(
        columns=(
            Column("category", "Category"),
            Column("tasks", "Tasks", 0),
            Column("papers", "Papers", 0),
            Column("share_percent", "Share, %", 1),
        ),
        rows=tuple((each.title, each.tasks, each.papers, 100 * each.tasks / total) for each in found),
        missing="" if found else "No task of this version has a category.",
        chart=(
            lambda: charts.bars(
                [each.title for each in found],
                [
                    Part(
                        "Tasks",
                        [each.tasks for each in found],
                        [f"{each.title}: {each.tasks} tasks of {each.papers} papers" for each in found],
                        charts.GOOD,
                    )
                ],
                title="tasks",
                **({"dtick": 1} if max(each.tasks for each in found) <= 10 else {}),
            )
        )
        if found
        else None,
    )


def categories(results: SuiteResults) -> Figure:
    """Count the tasks of each category that a run passes."""
    every = [row for row in results.rows if row.inputs == _FULL and row.tests is not None]
    best = every[: results.most]
    passed = results.by_category(best)
    totals = sum(row.entry not in passed for row in best)
    rows = [row for row in best if row.entry in passed]
    here = results.categories
    return Figure(
        columns=(_SYSTEM, _SOURCE, *(Column(f"category_{number}", each.title) for number, each in enumerate(here, 1))),
        rows=tuple(
            (row.system, row.provenance.label, *(_of(passed[row.entry].get(each.pk)) for each in here)) for row in rows
        ),
        addresses=tuple(map(address, rows)),
        known=len(every) - len(best) + len(rows),
        notes=(
            *_chart_note(len(every)),
            *((f"Only totals were published of {totals} more.",) if totals else ()),
        ),
        missing="" if rows else "No published run on this version has outcomes by task.",
        chart=(
            lambda: charts.cells(
                [row.system for row in rows[: charts.MOST_ROWS]],
                [each.title for each in here],
                [[_share(passed[row.entry].get(each.pk)) for each in here] for row in rows[: charts.MOST_ROWS]],
                [[_of(passed[row.entry].get(each.pk)) or "" for each in here] for row in rows[: charts.MOST_ROWS]],
            )
        )
        if rows
        else None,
    )


def cost(results: SuiteResults) -> Figure:
    """Compare scores with costs, and mark the runs on the Pareto front."""
    every = [row for row in results.rows if row.tests is not None and row.cost is not None]
    points = [(row.cost or 0.0, row.tests or 0.0) for row in every]
    front = pareto_front(points)
    ordered = sorted(range(len(every)), key=lambda place: (points[place][0], -points[place][1]))
    shown = [place for place in ordered if place in front] + [place for place in ordered if place not in front]
    shown = shown[: results.most]
    return Figure(
        columns=(
            _SYSTEM,
            _INPUTS,
            Column("cost_usd", "US $, all tasks once", 2),
            *_TESTS,
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
        addresses=tuple(address(every[place]) for place in shown),
        known=len(every),
        missing="" if every else _NO_COST,
        chart=partial(_cost_chart, every, points, front) if every else None,
    )


def history(results: SuiteResults) -> Figure:
    """List scores in the order of publication, with the record at each time."""
    dated = sorted(
        (row for row in results.rows if row.day and row.tests is not None and row.inputs == _FULL),
        key=lambda row: (row.day, row.entry),
    )
    best = records([row.tests or 0.0 for row in dated])
    places = range(len(dated))
    # The newest first, in files as well: on pages there may be more than are shown.
    shown = places[::-1][: results.most]
    reported = sum(row.reported for row in results.rows)
    return Figure(
        columns=(Column("date", "Published"), _SYSTEM, *_TESTS, Column("record_percent", "Best until then, %", 1)),
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
        addresses=tuple(address(dated[place]) for place in shown),
        known=len(dated),
        notes=(f"Left out without a date: {reported} reported.",) if reported else (),
        missing="" if dated else "Nothing that this site measured is published on this version yet.",
        chart=partial(_history_chart, dated, best) if dated else None,
    )


_NO_COST: Final = "No published run declares the cost of all its answers. Reported runs have no cost."
_LINES: Final = 8
"""Number of lines that can be distinguished in one chart."""
_NONE: Final = (None, None, None)
_NOTHING: Final = "Nothing is published on this version yet."
_TABLE_6: Final = (
    "Table 6 prints other shares of CC than the judge's files give for {} of {} runs: its labels come from another "
    "round of judging, whose files were not published."
)
_REDUCED: Final = (Inputs.PAPER_ONLY.label, Inputs.PAPER_GOAL_FILE.label)


def address(row: ScoreRow) -> str:
    """Return the address of a run's page."""
    return reverse("reported_run", args=[row.run]) if row.run else reverse("submission", args=[row.submission])


def _cc_and_rest(labels: tuple[float, float, float] | None) -> tuple[float | None, float | None]:
    return (labels[0], 100 - labels[0]) if labels else (None, None)


def _of(passed: tuple[float, int] | None) -> str | None:
    return None if passed is None else f"{round(passed[0], 1):g}/{passed[1]}"


def _share(passed: tuple[float, int] | None) -> float | None:
    return None if passed is None else passed[0] / passed[1]


def _chart_note(known: int) -> tuple[str, ...]:
    """Describe how much of a long table the chart shows."""
    return (f"The chart shows the first {charts.MOST_ROWS} of {known}.",) if known > charts.MOST_ROWS else ()


def _differences(results: SuiteResults, every: Sequence[ScoreRow]) -> tuple[str, ...]:
    """Describe where the stored reported results and the paper's tables differ at the printed precision."""
    printed, found = results.printed, []
    for row in results.with_labels([row for row in every if row.run in printed]):
        ours = {"tests": row.tests}
        for rater, labels in (("judge", row.judge), ("human", row.human)):
            ours |= {
                f"{rater}_{label}": share for label, share in zip(("CC", "LC", "LI"), labels or _NONE, strict=True)
            }
        other = {
            measure: (value, paper)
            for measure, paper in printed[row.run].items()
            if (value := ours.get(measure)) is not None and abs(round(value, 1) - paper) > 0.05
        }
        if other:
            values = ", ".join(
                f"{words} {other[measure][0]:.1f} (paper {other[measure][1]:.1f})"
                for measure, words in _MEASURES.items()
                if measure in other
            )
            found.append(f"{row.system}, {row.inputs}: the files give {values}.")
    return tuple(found)


def _description(row: ScoreRow) -> str:
    interval = "" if row.low is None else f", 95 % interval {row.low:.1f} to {row.high:.1f}"
    return f"{row.system} ({row.provenance.label}): {row.tests:.1f} % of tests{interval}"


def _by_source(rows: Sequence[ScoreRow], make: Callable[[str, list[int], str, str], Series]) -> list[Series]:
    """Make a series of measured rows and one of reported rows, if there are any."""
    kinds = (("measured here", False, charts.GOOD, "circle"), ("reported", True, charts.BAD, "diamond-open"))
    made = []
    for name, reported, color, symbol in kinds:
        places = [place for place, row in enumerate(rows) if row.reported == reported]
        made += [make(name, places, color, symbol)] if places else []
    return made


def _interval_chart(rows: Sequence[ScoreRow]) -> charts.Chart:
    def make(name: str, places: list[int], color: str, symbol: str) -> Series:
        chosen = [rows[place] for place in places]
        values, lows, highs = zip(*((row.tests, row.low, row.high) for row in chosen), strict=True)
        return Series(name, places, values, [_description(row) for row in chosen], color, symbol, lows, highs)

    names = [row.system for row in rows]
    return charts.dots(names, _by_source(rows, make), title="% of tasks whose unit tests pass", range=[-3, 103])


def _inputs_chart(groups: Sequence[Sequence[ScoreRow]]) -> charts.Chart:
    columns = [*_REDUCED, _FULL]
    series = []
    for group in groups:
        # One point for each kind of inputs: the best run.
        best: dict[int, ScoreRow] = {}
        for row in group:
            place = columns.index(row.inputs)
            if row.tests is not None and (place not in best or row.tests > (best[place].tests or 0)):
                best[place] = row
        places = sorted(best)
        symbol = "circle-open" if group[0].reported else "circle"
        values, texts = [best[place].tests for place in places], [_description(best[place]) for place in places]
        series.append(Series(f"{group[0].system} ({group[0].provenance.label})", places, values, texts, "", symbol))
    return charts.lines(columns, series, title="% of tasks passed")


def _binary_chart(rows: Sequence[ScoreRow], printed: dict[str, float]) -> charts.Chart:
    found = [
        ("unit tests pass", "circle", charts.GOOD, {n: row.tests for n, row in enumerate(rows)}),
        ("judge: CC", "square", charts.BAD, {n: row.judge and row.judge[0] for n, row in enumerate(rows)}),
        ("annotators: CC", "diamond", charts.INK, {n: row.human and row.human[0] for n, row in enumerate(rows)}),
        ("paper's Table 6", "x", charts.MUTED, {n: printed.get(row.run) for n, row in enumerate(rows)}),
    ]
    series = []
    for name, symbol, color, values in found:
        known = {place: value for place, value in values.items() if value is not None}
        texts = [f"{rows[place].system}, {name}: {value:.1f} %" for place, value in known.items()]
        series += [Series(name, list(known), list(known.values()), texts, color, symbol)] if known else []
    return charts.dots([row.system for row in rows], series, title="% of tasks", range=[-3, 103])


def _cost_chart(rows: Sequence[ScoreRow], points: Sequence[tuple[float, float]], front: set[int]) -> charts.Chart:
    def series(name: str, places: Sequence[int], color: str, symbol: str) -> Series:
        texts = [f"{_description(rows[place])}, US $ {points[place][0]:.2f}" for place in places]
        costs, shares = [points[place][0] for place in places], [points[place][1] for place in places]
        return Series(name, costs, shares, texts, color, symbol)

    best = sorted(front, key=lambda place: points[place])
    others = [place for place in range(len(rows)) if place not in front]
    return charts.steps(
        [
            series("on the front", best, charts.GOOD, "circle"),
            *([series("others", others, charts.BAD, "circle-open")] if others else []),
        ],
        [points[place] for place in best],
        line_name="Pareto front",
        title="US $ for all tasks once",
        score="% of tasks passed",
        **({"type": "log"} if min(point[0] for point in points) > 0 else {"rangemode": "tozero"}),
    )


def _history_chart(rows: Sequence[ScoreRow], best: Sequence[float]) -> charts.Chart:
    dates = [row.day for row in rows if row.day]
    days = [day.isoformat() for day in dates]
    texts = [f"{day}: {_description(row)}" for day, row in zip(days, rows, strict=True)]
    series = Series("published runs", days, [row.tests for row in rows], texts, charts.GOOD)
    record = list(zip(days, best, strict=True))
    axis = charts.days(dates[0], dates[-1])
    return charts.steps([series], record, line_name="record", title="published", score="% of tasks passed", **axis)
