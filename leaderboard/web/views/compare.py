"""Compare two to four systems, and two answers to one task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from evaluator.models import TestRun
from evaluator.testing.shown_outcomes import newest
from leaderboard.board.matrix import FILE_COLUMNS, cells, file_rows, results_on, tasks_of
from leaderboard.board.query_strings import query_with, requested_version
from leaderboard.board.rows import rows_named
from leaderboard.board.visibility import closed, closed_submissions, require_open, without_numbers
from leaderboard.evidence.answers import request_of
from leaderboard.evidence.submissions import answer_row, may_see_code
from leaderboard.web.closed_pages import closes
from leaderboard.web.page_cache import kept_by
from leaderboard.web.table_files import HIDDEN, file_requested, table_file
from leaderboard.web.views.board import data_version
from reviews.labelling.items import shown_definition
from submissions.comparison import side_by_side
from submissions.models import Implementation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest, HttpResponse

    from leaderboard.board.matrix import MatrixTask
    from leaderboard.board.row import BoardRow
    from leaderboard.insight.comparing import Compared


@require_safe
@kept_by(data_version)
def compare(request: HttpRequest, suite: str) -> HttpResponse:
    """Compare two to four rows of a board, named by ``?row=``: each pair's difference, and every task."""
    # Imported here: resampling needs numpy, which no other public page needs.
    from leaderboard.insight.comparing import FEWEST, MOST, compared, offered, task_lines

    shown = get_object_or_404(Suite, slug=suite)
    version = requested_version(request, shown)
    if version is None:
        raise Http404("This suite has no version yet.")
    keys = request.GET.getlist("row")
    hidden = closed_submissions(request)
    rows = without_numbers(rows_named(version, keys[: MOST * 2])[:MOST], hidden)
    tasks = tasks_of(version)
    enough = len(rows) >= FEWEST
    pairs = compared(rows, tasks) if enough else []
    lines = task_lines(rows, tasks, [cells(row, tasks, each_stops=True) for row in rows]) if enough else []
    if file_requested(request):
        return _file(request, rows, tasks, pairs)
    differing = [line for line in lines if line.discordant]
    comparable = any(each.pair for each in pairs)
    shows_all = request.GET.get("tasks") == "all" or not comparable
    choices = dict(offered(version, hidden))
    # Calibration samples and low-ranked rows are not offered, but those being compared stay selected.
    choices |= {row.key: row.title_with_inputs for row in rows if row.key not in choices}
    context = {
        "suite": shown,
        "version": version,
        "closed": closed(request),
        "rows": rows,
        "pairs": pairs,
        "lines": lines if shows_all else differing,
        "differing": len(differing),
        "all": len(lines),
        "comparable": comparable,
        "shows_all": shows_all,
        "tasks_query": query_with(request.GET, tasks=None if shows_all else "all"),
        "with_code": [row for row in rows if row.submission and not row.closed],
        "offered": choices.items(),
        "keys": [row.key for row in rows],
        "query": "&".join([*(f"row={row.key}" for row in rows), f"version={version.number}"]),
        "places": range(MOST),
        "too_many": len(set(keys)) > MOST,
        "missing": len(set(keys)) - len(rows) if len(set(keys)) <= MOST else 0,
    }
    return render(request, "leaderboard/compare.html", context)


@require_safe
@closes
def compare_task(request: HttpRequest, suite: str, paper: str, index: int) -> HttpResponse:
    """Show the code of two published answers to one task side by side: the first trials of ``?row=s12&row=s15``."""
    shown = get_object_or_404(Suite, slug=suite)
    version = requested_version(request, shown)
    if version is None:
        raise Http404("This suite has no version yet.")
    rows = rows_named(version, [key for key in request.GET.getlist("row") if key.startswith("s")][:2])
    if len(rows) < 2:
        raise Http404("Name two published submissions of this suite: ?row=s12&row=s15.")
    answers = [_answer(request, row, paper, index) for row in rows]
    task = next(each for each in tasks_of(version) if each.slug == answers[0].revision.task.slug)
    sources = (shown_definition(each.goal_source) if each.goal_source else "" for each in answers)
    context = {
        "suite": shown,
        "task": answers[0].revision.task,
        "rows": rows,
        "sides": [_side(row, answer, task) for row, answer in zip(rows, answers, strict=True)],
        "comparison": side_by_side(*sources, fold_docstrings=True),
        "back": f"{reverse('compare', args=[suite])}?{'&'.join(f'row={row.key}' for row in rows)}",
    }
    return render(request, "leaderboard/compare_task.html", context)


def _side(row: BoardRow, answer: Implementation, task: MatrixTask) -> dict[str, Any]:
    """Return what is shown above one of two answers: outcome and labels."""
    run = newest(TestRun.objects.current().filter(implementation=answer).order_by("pk").defer("cases", "log"))
    _, judge, annotators = results_on(row, task)
    shown = answer_row(answer, run, request_of(answer))
    return {"row": row, "answer": answer, "badge": shown.badge, "judge": judge, "annotators": annotators}


def _answer(request: HttpRequest, row: BoardRow, paper: str, index: int) -> Implementation:
    """Return a row's answer to a task. Raises Http404, and what :func:`require_open` raises."""
    answer = get_object_or_404(
        Implementation.objects.select_related("submission", "revision__task__paper", "revision__task__suite"),
        submission=row.submission,
        revision__task__paper__slug=paper,
        revision__task__index=index,
        trial=1,
    )
    require_open(request, submission=answer.submission)
    if not may_see_code(request.user, answer.submission):
        raise Http404("The code of this answer is not public.")
    return answer


def _file(
    request: HttpRequest, rows: Sequence[BoardRow], tasks: Sequence[MatrixTask], pairs: Sequence[Compared]
) -> HttpResponse:
    site = request.build_absolute_uri("/").rstrip("/")
    numbers = {
        **{name: name for name in ("tasks", "papers", "difference", "low", "high", "p")},
        "first_only": "more_a",
        "second_only": "more_b",
    }
    compared_pairs: list[dict[str, Any]] = [
        {
            "first": each.first.key,
            "second": each.second.key,
            "words": each.words,
            **{name: getattr(each.pair, stored) if each.pair else None for name, stored in numbers.items()},
            "p_holm": each.adjusted,
        }
        for each in pairs
    ]
    marked = any(row.closed for row in rows)
    return table_file(
        request,
        name="comparison",
        columns=(*FILE_COLUMNS, HIDDEN) if marked else FILE_COLUMNS,
        rows=[[*line, row.closed] if marked else line for row in rows for line in file_rows(row, tasks, site)],
        pairs=compared_pairs,
    )
