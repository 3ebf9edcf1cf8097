"""Show systems with their published rows, and runs that others reported."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from evaluator.labels import Label
from leaderboard.board.columns import used_columns
from leaderboard.board.histories import history_of
from leaderboard.board.matrix import cells, results_on, tasks_by_version, tasks_of
from leaderboard.board.neighbours import neighbours_of
from leaderboard.board.results import (
    category_numbers,
    confusion,
    runs_of_system,
)
from leaderboard.board.rows import board_row, visible_entries
from leaderboard.board.visibility import closed, closed_submissions
from leaderboard.models import ReportedRun
from submissions.domain.access import may_see_unpublished
from submissions.domain.organisations import claim_of
from submissions.models import System

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.board.columns import Column
    from leaderboard.board.histories import History
    from leaderboard.board.matrix import MatrixTask
    from leaderboard.board.neighbours import Neighbour
    from leaderboard.board.results import SystemRun
    from leaderboard.board.row import BoardRow

_SHOWN: Final = {
    *("rank", "system", "inputs", "tests", "trials", "judge", "human", "final", "marks", "cost", "tokens", "date"),
    "source",
}


class SuiteRuns(NamedTuple):
    """A system's rows on one suite version, newest first, and the board's rows adjacent to the leading one.

    ``runs`` hold, for each row: the row, its marks, and its numbers by category. ``leading`` is the row
    that the board shows for the system; None for samples.
    """

    version: SuiteVersion
    runs: list[tuple[BoardRow, list[tuple[MatrixTask, SafeString]], list[dict[str, Any]]]]
    columns: list[Column]
    history: History | None
    neighbours: list[Neighbour]
    leading: BoardRow | None


@require_safe
def system(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one system with all its published rows. Only its owners and maintainers see a system without rows."""
    shown = get_object_or_404(System.objects.select_related("confirmation", "team"), slug=slug)
    hidden = closed_submissions(request)
    runs = runs_of_system(shown, hidden)
    is_own = may_see_unpublished(request.user, shown)
    if not runs and not is_own:
        # The same answer as for an unknown system: its name is not public before its first published row.
        raise Http404
    by_version = [
        list(group)
        for sample in (False, True)
        for _, group in groupby(
            (run for run in runs if run.row.calibration == sample), key=lambda run: run.entry.suite_version_id
        )
    ]
    tasks = tasks_by_version({run.entry.suite_version_id for run in runs})
    neighbours = neighbours_of(runs, hidden)
    groups = [_on_suite(group, tasks[group[0].entry.suite_version_id], neighbours) for group in by_version]
    context = {
        "system": shown,
        "claim": claim_of(shown),
        "groups": groups,
        "closed": closed(request) if any(run.row.closed for run in runs) else [],
        "is_own": is_own,
        "ranked": any(not run.row.calibration for run in runs),
        "site": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "leaderboard/system.html", context)


def _on_suite(runs: list[SystemRun], tasks: list[MatrixTask], neighbours: Mapping[int, list[Neighbour]]) -> SuiteRuns:
    version = runs[0].entry.suite_version
    rows = [run.row for run in runs]
    listed = [(run.row, cells(run.row, tasks), run.categories) for run in runs]
    # A run that was measured again follows the reported one.
    listed.sort(key=lambda each: each[0].remeasures or each[0].key.removeprefix("r-"))
    listed.sort(key=lambda each: (each[0].date is not None, each[0].date), reverse=True)
    return SuiteRuns(
        version=version,
        runs=listed,
        columns=used_columns(_SHOWN, rows),
        history=history_of(rows) if not rows[0].calibration else None,
        neighbours=[] if rows[0].calibration else neighbours.get(version.pk, []),
        leading=None if rows[0].calibration else next((run.row for run in runs if run.leads), None),
    )


@require_safe
def reported_run(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one reported run: totals, results per task, remarks, and the agreement of judge and annotators.

    If its answers were measured again: the outcome of each beside what was reported.
    """
    if not slug.isprintable():
        # PostgreSQL refuses NUL characters in queries.
        raise Http404
    run = get_object_or_404(ReportedRun.objects.select_related("suite", "system", "remeasures"), slug=slug)
    entry = visible_entries().filter(reported_run=run).select_related("system", "suite_version").first()
    if entry is None:
        raise Http404
    metrics = list(entry.metrics.select_related("category"))
    results = list(
        run.results.select_related("task__paper", "task__suite").order_by("task__paper__folder_name", "task__index")
    )
    row = board_row(entry, next((metric for metric in metrics if metric.category_id is None), None), 0)
    published = {each.task_id: each for each in run.remeasures.results.all()} if run.remeasures else {}
    tasks = sorted(tasks_of(entry.suite_version), key=lambda task: task.place)
    absent = {each["task"] for each in row.not_reported}
    context = {
        "run": run,
        "suite": run.suite,
        "system": run.system,
        "row": row,
        "categories": category_numbers(metrics),
        "results": results,
        "measured_again": visible_entries().filter(reported_run__remeasures=run).select_related("reported_run"),
        "remeasured": [(each, published.get(each.task_id)) for each in results],
        "unanswered": [task for task in tasks if results_on(row, task)[0] is None and task.slug not in absent],
        "confusion": confusion(results),
        "labels": list(Label),
        "printed": {total.measure: total.printed for total in run.aggregates.all() if total.printed is not None},
    }
    return render(request, "leaderboard/reported_run.html", context)
