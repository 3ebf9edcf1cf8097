"""Show the evidence behind a mark of a board, as a page; with JavaScript the board shows it in a panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evaluator.testing.shown_outcomes import newest
from leaderboard.evidence.answers import open_answer, shown_runs
from leaderboard.evidence.cells import open_cell
from leaderboard.evidence.reports import shown_report
from leaderboard.evidence.shown_answers import shown_answer
from leaderboard.evidence.task_answers import trial_outcomes
from leaderboard.web.closed_pages import closes

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from leaderboard.evidence.cells import Cell
    from submissions.models import Submission


@never_cache
@require_safe
@closes
def evidence(request: HttpRequest, suite: str, key: str, paper: str, index: int) -> HttpResponse:
    """Show a row's answer to a task: outcome, code, judge, annotators, cost. Query: ``?trial=``."""
    cell = open_cell(request, suite, key, paper, index)
    context: dict[str, Any] = {
        "cell": cell,
        "suite": cell.suite,
        "task": cell.revision.task,
        "revision": cell.revision,
    }
    if cell.entry.submission:
        context |= _measured(request, cell, cell.entry.submission)
    elif cell.entry.reported_run:
        run = cell.entry.reported_run
        context["report"] = shown_report(run, cell.revision.task, totals_only=cell.totals_only)
    return render(request, "leaderboard/evidence.html", context)


def _measured(request: HttpRequest, cell: Cell, submission: Submission) -> dict[str, Any]:
    number = request.GET.get("trial", "1")
    if number not in map(str, range(1, submission.trials + 1)):
        raise Http404("This submission has no such trial.")
    answer = open_answer(request, submission, cell.task.paper, cell.task.index, int(number))
    run = newest([run for run in shown_runs(answer) if not run.superseded_by.all()])
    several = submission.trials > 1
    trials = trial_outcomes(cell.revision.task, [submission.pk])[submission.pk] if several else []
    return shown_answer(request.user, answer, run) | {"trials": trials}
