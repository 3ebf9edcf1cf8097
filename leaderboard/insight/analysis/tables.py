"""Make the figures that list runs: Table 2, Table 3 and Table 6."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from leaderboard.insight.analysis import axes, charts, findings
from leaderboard.insight.analysis.charts import Dots, Point, Series
from leaderboard.insight.analysis.figure import Column, Figure
from leaderboard.insight.analysis.paper import SUITE, TABLE_6
from leaderboard.insight.analysis.runs import (
    FULL,
    INPUTS,
    NOTHING,
    SOURCE,
    SYSTEM,
    TESTS,
    address,
    by_source,
    chart_note,
    description,
    point,
)
from leaderboard.statistics.intervals import wilson
from leaderboard.statistics.records import widest_interval
from submissions.enums import Inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leaderboard.insight.analysis.data import ScoreRow, SuiteResults

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
    every = [row for row in results.rows if row.inputs == FULL]
    printed = results.printed
    rows = results.with_labels(every[: results.most])
    columns = (SYSTEM, SOURCE, *TESTS, *_JUDGE, *_HUMAN)
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
        finding=findings.leader(every),
        addresses=tuple(map(address, rows)),
        known=len(every),
        notes=(*widest_interval([row.tasks for row in tested]), *chart_note(len(every))),
        differences=_differences(results, every),
        missing="" if tested else NOTHING if not rows else "no published run has test results",
        chart=_scores_chart(tested) if tested else None,
    )


def _scores_chart(rows: Sequence[ScoreRow]) -> Dots:
    series = by_source(rows, lambda place, row: point(row, place))
    return Dots([row.system for row in rows], series, axes.percent("% of tasks whose unit tests pass"))


def inputs(results: SuiteResults) -> Figure:
    """Make Table 3: systems that were run with reduced inputs, beside their runs with full inputs."""
    order = {label: place for place, label in enumerate((*_REDUCED, FULL))}
    groups: dict[tuple[str, bool], list[ScoreRow]] = {}
    for row in results.rows:
        groups.setdefault((row.system, row.reported), []).append(row)
    found = [group for group in groups.values() if {row.inputs for row in group} - {FULL}]
    ordered = [sorted(group, key=lambda row: order[row.inputs]) for group in found]
    every = [row for group in ordered for row in group]
    best = [_best_by_inputs(group) for group in ordered]
    rows = results.with_labels(every[: results.most])
    only = Inputs.PAPER_ONLY.label
    drawn = [each for each in best if each][:_MOST_SYSTEMS]
    return Figure(
        columns=(SYSTEM, SOURCE, INPUTS, *TESTS, *_JUDGE),
        rows=tuple(
            (row.system, row.provenance.label, row.inputs, row.tests, row.low, row.high, *(row.judge or _NONE))
            for row in rows
        ),
        finding=findings.reduced_inputs(
            [findings.Reduced(each[only], each[FULL]) for each in best if only in each and FULL in each]
        ),
        addresses=tuple(map(address, rows)),
        known=len(every),
        notes=(
            (f"The chart shows the first {_MOST_SYSTEMS} of {len(found)} systems.",)
            if len(found) > _MOST_SYSTEMS
            else ()
        ),
        differences=_differences(results, [row for row in every if row.inputs != FULL]),
        missing="" if drawn else "no published run was given reduced inputs",
        chart=_inputs_chart(drawn) if drawn else None,
    )


def _best_by_inputs(group: Sequence[ScoreRow]) -> dict[str, ScoreRow]:
    """Map kinds of inputs to the group's best run with them."""
    best: dict[str, ScoreRow] = {}
    for row in group:
        if row.tests is not None and (row.inputs not in best or row.tests > (best[row.inputs].tests or 0)):
            best[row.inputs] = row
    return best


def _inputs_chart(systems: Sequence[Mapping[str, ScoreRow]]) -> Dots:
    looks = ((*_REDUCED, FULL), (charts.MUTED, charts.MUTED, charts.GOOD), ("ring", "square", "circle"))
    series = []
    for label, color, symbol in zip(*looks, strict=True):
        points = [
            point(best[label], place, text=f"{description(best[label])}, given {label}")
            for place, best in enumerate(systems)
            if label in best
        ]
        series += [Series(label, points, color, symbol)] if points else []
    rows = [next(iter(best.values())) for best in systems]
    several = len({row.reported for row in rows}) > 1
    names = [f"{row.system} ({row.provenance.label})" if several else row.system for row in rows]
    return Dots(names, series, axes.percent("% of tasks whose unit tests pass"))


def binary(results: SuiteResults) -> Figure:
    """Make Table 6: completely correct against the rest."""
    printed = TABLE_6 if results.version.suite.slug == SUITE else {}
    every = [row for row in results.rows if row.inputs == FULL and row.labelled]
    rows = results.with_labels(every[: results.most])
    columns = (
        SYSTEM,
        SOURCE,
        TESTS[0],
        *(_JUDGE[0], Column("judge_rest_percent", "Judge: the rest, %", 1)),
        *(_HUMAN[0], Column("annotators_rest_percent", "Annotators: the rest, %", 1)),
        *((Column("paper_cc_percent", "Paper: CC, %", 2),) if printed else ()),
    )
    differing = sum(1 for row in rows if row.judge and abs(printed.get(row.run, row.judge[0]) - row.judge[0]) >= 0.1)
    return Figure(
        columns=columns,
        rows=tuple(
            (row.system, row.provenance.label, row.tests, *_cc_and_rest(row.judge), *_cc_and_rest(row.human))
            + ((printed.get(row.run),) if printed else ())
            for row in rows
        ),
        finding=findings.stricter(rows),
        addresses=tuple(map(address, rows)),
        known=len(every),
        notes=chart_note(len(every)),
        differences=(_TABLE_6.format(differing, len(printed)),) if differing else (),
        missing="" if rows else "no published run has labels",
        chart=_binary_chart(rows[: charts.MOST_ROWS], printed) if rows else None,
    )


def _binary_chart(rows: Sequence[ScoreRow], printed: Mapping[str, float]) -> Dots:
    tested = [point(row, place) for place, row in enumerate(rows) if row.tests is not None]
    paper = [
        Point(place, printed[row.run], f"{row.system}, paper's Table 6: {printed[row.run]:.1f} %")
        for place, row in enumerate(rows)
        if row.run in printed
    ]
    judge = _labelled("judge: CC", [(row, row.judge) for row in rows])
    annotators = _labelled("annotators: CC", [(row, row.human) for row in rows])
    series = (
        Series("unit tests pass", tested, charts.GOOD),
        Series("judge: CC", judge, charts.MUTED, "square"),
        Series("annotators: CC", annotators, charts.INK, "diamond"),
        Series("paper's Table 6", paper, charts.MUTED, "cross"),
    )
    return Dots([row.system for row in rows], [each for each in series if each.points], axes.percent("% of tasks"))


def _labelled(name: str, rows: Sequence[tuple[ScoreRow, tuple[float, float, float] | None]]) -> list[Point]:
    points = []
    for place, (row, labels) in enumerate(rows):
        if labels is None:
            continue
        low, high = (100 * bound for bound in wilson(min(labels[0] * row.tasks / 100, row.tasks), row.tasks))
        text = f"{row.system}, {name}: {labels[0]:.1f} % of tasks, 95 % interval {low:.1f} to {high:.1f}"
        points.append(Point(place, labels[0], text, low, high))
    return points


_MOST_SYSTEMS: Final = 8
"""Number of systems with several points each that one chart shows."""
_NONE: Final = (None, None, None)
_TABLE_6: Final = (
    "Table 6 prints other shares of CC than the judge's files give for {} of {} runs: its labels come from another "
    "round of judging, whose files were not published."
)
_REDUCED: Final = (Inputs.PAPER_ONLY.label, Inputs.PAPER_GOAL_FILE.label)


def _cc_and_rest(labels: tuple[float, float, float] | None) -> tuple[float | None, float | None]:
    return (labels[0], 100 - labels[0]) if labels else (None, None)


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
