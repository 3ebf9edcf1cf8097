"""Show disputed answers: the list of cases, one case, reported disagreements; and receive appeals."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard.board.filters import CaseFilter
from leaderboard.board.rows import visible_entries
from leaderboard.board.visibility import closed_submissions, require_open
from leaderboard.evidence.answers import open_answer
from leaderboard.evidence.cases import (
    case_page,
    case_rows,
    may_appeal,
    public_cases,
    reported_rows,
)
from leaderboard.evidence.reports import shown_report
from leaderboard.evidence.submissions import may_see_code, visible_submission
from leaderboard.models import ReportedResult
from leaderboard.models.enums import Provenance
from leaderboard.web.closed_pages import closes
from leaderboard.web.forms import AppealForm
from leaderboard.web.views.submissions import answer_page, docstring_folding
from reviews.cases.appeals import appeal as appeal_against
from submissions.permissions import user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

PAGE_SIZE = 25


@never_cache
@require_safe
def cases(request: HttpRequest) -> HttpResponse:
    """List closed cases and reported disagreements. Query: ``?what=&suite=&category=&reason=&source=&page=``."""
    hidden = closed_submissions(request)
    # Hidden submissions are excluded before filtering, so that no filter reveals them.
    found = CaseFilter(request.GET, queryset=public_cases().exclude(implementation__submission__in=hidden))
    own = found.qs.order_by("-closed", "-pk")
    reported = found.reported.order_by("run__suite__position", "run__slug", "task__paper__folder_name", "task__index")
    # One list: cases decided here, newest first, then reported disagreements.
    decided = own.count()
    page = Paginator(range(decided + reported.count()), PAGE_SIZE).get_page(request.GET.get("page"))
    first, end = max(page.start_index() - 1, 0), page.end_index()
    rows = case_rows(own[first:end]) if first < decided else []
    context = {
        "filter": found,
        "page": page,
        "closed": hidden,
        "cases": rows,
        "has_reasons": any(hasattr(row.case, "decision") and row.case.decision.reason_names for row in rows),
        "reported": reported_rows(reported[max(first - decided, 0) : end - decided]) if end > decided else [],
    }
    return render(request, "leaderboard/cases.html", context)


@never_cache
@require_safe
@closes
def case(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one closed case. Open cases have no page, not even for maintainers, who may be annotators too."""
    found = public_cases().select_related(
        "decision__adjudicator",
        "decision__guideline",
        "implementation__revision__task__paper",
        "implementation__revision__task__suite",
        "implementation__revision__category",
        "implementation__submission__system",
        "implementation__submission__suite_version__suite",
    )
    shown = get_object_or_404(found, pk=pk)
    submission = shown.implementation.submission
    require_open(request, submission=submission)
    folds, docstrings_query = docstring_folding(request)
    sees_code = may_see_code(request.user, submission)
    context = {
        "page": case_page(shown, sees_code=sees_code, folds=folds),
        "folds_docstrings": folds,
        "docstrings_query": docstrings_query,
        "case": shown,
        "answer": shown.implementation,
        "submission": submission,
        "task": shown.implementation.revision.task,
        "revision": shown.implementation.revision,
        "suite": submission.suite_version.suite,
    }
    return render(request, "leaderboard/case.html", context)


@never_cache
@require_safe
def reported_case(request: HttpRequest, run: str, paper: str, index: int) -> HttpResponse:
    """Show the reported results of one answer, whose code this site does not have."""
    if not run.isprintable():
        # PostgreSQL refuses NUL characters in queries.
        raise Http404
    shown = visible_entries().filter(provenance=Provenance.REPORTED).values("reported_run")
    found = ReportedResult.objects.select_related("run__suite", "task__suite").filter(
        run__in=shown, run__slug=run, task__paper__slug=paper, task__index=index
    )
    rows = reported_rows(found)
    if not rows:
        raise Http404
    ((result, category),) = rows
    context = {
        "report": shown_report(result.run, result.task),
        "category": category,
        "run": result.run,
        "task": result.task,
        "suite": result.run.suite,
    }
    return render(request, "leaderboard/reported_case.html", context)


@action("implementation")
@closes
def appeal(request: HttpRequest, pk: int, paper: str, index: int, trial: int) -> HttpResponse:
    """Appeal against an answer's label. A refused appeal is shown on the answer's page, filled as typed."""
    shown = visible_submission(request, pk)
    answer = open_answer(request, shown, paper, index, trial)
    if not may_appeal(request.user, answer):
        raise Http404
    form = AppealForm(request.POST)

    def act() -> None:
        appeal_against(actor=user_of(request), implementation=answer, evidence=form.cleaned_data["evidence"])

    return perform(
        request,
        act,
        # The message is at the top; without a fragment, browsers would keep the form's.
        back=f"{answer.get_absolute_url()}#top",
        done="Your appeal is received. The answer will be reviewed with your evidence.",
        form=form,
        again=lambda: answer_page(request, shown, answer, appeal=form, status=HTTPStatus.UNPROCESSABLE_ENTITY),
    )
