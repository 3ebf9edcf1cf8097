"""Who is measured: systems, and runs that others reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from evaluator.judging.labels import Label
from leaderboard.board.board import board_row, visible_entries
from leaderboard.board.results import (
    category_numbers,
    confusion,
    runs_of_system,
)
from leaderboard.models import ReportedRun
from submissions.models import System

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
def system(request: HttpRequest, slug: str) -> HttpResponse:
    """One system: all its published rows. A system without any is shown to its owner and to maintainers only."""
    shown = get_object_or_404(System, slug=slug)
    runs = runs_of_system(shown)
    is_own = request.user.is_authenticated and (request.user.is_staff or shown.owner_id == request.user.pk)
    if not runs and not is_own:
        # As for a system that does not exist: its name is not public before something of it is.
        raise Http404
    context = {
        "system": shown,
        "runs": [run for run in runs if not run.row.calibration],
        "samples": [run for run in runs if run.row.calibration],
        "is_own": is_own,
    }
    return render(request, "leaderboard/system.html", context)


@require_safe
def reported_run(request: HttpRequest, slug: str) -> HttpResponse:
    """What others reported of one run: totals, per task, remarks, and how judge and annotators agree."""
    if not slug.isprintable():
        # PostgreSQL refuses to look for a NUL.
        raise Http404
    run = get_object_or_404(ReportedRun.objects.select_related("suite", "system"), slug=slug)
    entry = visible_entries().filter(reported_run=run).select_related("system", "suite_version").first()
    if entry is None:
        raise Http404
    metrics = list(entry.metrics.select_related("category"))
    results = list(
        run.results.select_related("task__paper", "task__suite").order_by("task__paper__folder_name", "task__index")
    )
    row = board_row(entry, next((metric for metric in metrics if metric.category_id is None), None), 0)
    context = {
        "run": run,
        "suite": run.suite,
        "system": run.system,
        "row": row,
        "categories": category_numbers(metrics),
        "results": results,
        "has_tests": any(result.tests_passed is not None for result in results),
        "has_judge": any(result.judge_label for result in results),
        "has_human": any(result.human_label for result in results),
        "confusion": confusion(results),
        "labels": list(Label),
        "printed": {total.measure: total.printed for total in run.aggregates.all() if total.printed is not None},
    }
    return render(request, "leaderboard/reported_run.html", context)
