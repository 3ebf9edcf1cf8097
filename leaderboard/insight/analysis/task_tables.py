"""Make the figures that list categories and tasks: categories, difficulty, and the paper's Figure 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leaderboard.board.matrix import MatrixTask, tasks_of
from leaderboard.insight.analysis import axes, charts, findings
from leaderboard.insight.analysis.charts import Bars, Cell, Dots, Grid, Part, Point, Series
from leaderboard.insight.analysis.figure import Column, Figure
from leaderboard.insight.analysis.findings import Share
from leaderboard.insight.analysis.runs import FULL, SOURCE, SYSTEM, TESTS, address, chart_note, computed_note
from leaderboard.statistics.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.insight.analysis.data import CategoryTasks, ScoreRow, SuiteResults


def categories(results: SuiteResults) -> Figure:
    """Count the tasks of each category that a run passes."""
    every = [row for row in results.rows if row.inputs == FULL and row.tests is not None]
    best = every[: results.most]
    passed = results.by_category(best)
    totals = sum(row.entry not in passed for row in best)
    rows = [row for row in best if row.entry in passed]
    here = results.categories
    return Figure(
        columns=(SYSTEM, SOURCE, *(Column(f"category_{number}", each.title) for number, each in enumerate(here, 1))),
        rows=tuple(
            (row.system, row.provenance.label, *(_of(passed[row.entry].get(each.pk)) for each in here)) for row in rows
        ),
        finding=findings.pass_rates(
            [Share(each.title, *results.passed_in_categories.get(each.pk, (0, 0))) for each in here]
        ),
        addresses=tuple(map(address, rows)),
        known=len(every) - len(best) + len(rows),
        notes=(
            *chart_note(len(every)),
            *((f"Only totals were published of {totals} more.",) if totals else ()),
        ),
        missing="" if rows else "no published run has outcomes by task",
        chart=_categories_chart(rows[: charts.MOST_ROWS], here, passed) if rows else None,
    )


def _categories_chart(
    rows: Sequence[ScoreRow], here: Sequence[CategoryTasks], passed: dict[int, dict[int, tuple[float, int]]]
) -> Grid:
    def cell(row: ScoreRow, category: CategoryTasks) -> Cell | None:
        found = passed[row.entry].get(category.pk)
        if found is None:
            return None
        shown = _of(found) or ""
        return Cell(found[0] / found[1], shown, f"{row.system}, {category.title}: {shown} tasks passed")

    return Grid(
        [row.system for row in rows],
        [each.title for each in here],
        [[cell(row, each) for each in here] for row in rows],
    )


class TaskPasses(NamedTuple):
    """How many ``runs`` have a result on a task, and how many of them pass it; fractional with several trials.

    The percentage has a 95 % Wilson interval.
    """

    task: MatrixTask
    passed: float
    runs: int
    percent: float
    low: float
    high: float


def difficulty(results: SuiteResults) -> Figure:
    """Count the runs that pass each task, the hardest task first."""
    known = _task_passes(results)
    hardest_first = sorted(known, key=lambda each: (each.percent, -each.runs, each.task.place))
    shown = hardest_first[: results.most]
    return Figure(
        columns=(
            Column("task", "Task"),
            Column("category", "Category"),
            Column("runs", "Runs", 0),
            Column("passed", "Passed by", 1),
            *TESTS,
        ),
        rows=tuple(
            (each.task.slug, each.task.category, each.runs, each.passed, each.percent, each.low, each.high)
            for each in shown
        ),
        finding=findings.difficulty([Share(each.task.slug, each.passed, each.runs) for each in known]),
        addresses=tuple(each.task.address for each in shown),
        known=len(known),
        notes=(*chart_note(len(known)), *computed_note(results)),
        missing=results.report.missing or ("" if known else "no published run has outcomes by task"),
        chart=_difficulty_chart(shown[: charts.MOST_ROWS]) if known else None,
    )


def _task_passes(results: SuiteResults) -> list[TaskPasses]:
    """Return the tasks on which a run has a result. One query besides the report's."""
    counted = {each["task"]: each for each in (results.report.data or {}).get("passes", []) if each["runs"]}
    found = []
    for task in tasks_of(results.version) if counted else ():
        if task.slug in counted:
            passed, runs = counted[task.slug]["passed"], counted[task.slug]["runs"]
            low, high = wilson(passed, runs)
            found.append(TaskPasses(task, passed, runs, 100 * passed / runs, 100 * low, 100 * high))
    return found


def _difficulty_chart(tasks: Sequence[TaskPasses]) -> Dots:
    points = [
        Point(
            place,
            each.percent,
            f"{each.task.slug} ({each.task.category}): passed by {round(each.passed, 1):g} of {each.runs} runs, "
            f"95 % interval {each.low:.0f} to {each.high:.0f} %",
            each.low,
            each.high,
        )
        for place, each in enumerate(tasks)
    ]
    counts = {each.runs for each in tasks}
    runs = f"of {counts.pop()} runs" if len(counts) == 1 else "of the runs with a result"
    axis = axes.percent(f"% {runs} that pass the task")
    return Dots([each.task.slug for each in tasks], [Series("", points, charts.GOOD)], axis)


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
        finding=findings.largest_category([(each.title, each.tasks) for each in found]),
        missing="" if found else "no task has a category",
        chart=_tasks_chart(found) if found else None,
    )


def _tasks_chart(found: Sequence[CategoryTasks]) -> Bars:
    part = Part(
        "Tasks",
        [each.tasks for each in found],
        [f"{each.title}: {each.tasks} tasks of {each.papers} papers" for each in found],
        charts.GOOD,
    )
    axis = axes.numbers("tasks", 0, max(each.tasks for each in found), whole=True)
    return Bars([each.title for each in found], [part], axis)


def _of(passed: tuple[float, int] | None) -> str | None:
    return None if passed is None else f"{round(passed[0], 1):g}/{passed[1]}"
