"""Show the dashboard of reviewing, and export labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from reviews.annotators.reviewers import reviewer_of
from reviews.enums import CLOSED
from reviews.forms import ExportForm, StateForm
from reviews.labelling.blindness import hidden_submissions
from reviews.reports import dashboards
from reviews.reports.exporting import export
from submissions.permissions import maintainers_only, user_of

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from reviews.models import Reviewer

CASES_A_PAGE: Final = 25
_TYPES: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


@never_cache
@login_required
@require_safe
def review_dashboard(request: HttpRequest) -> HttpResponse:
    """Show waiting cases and the reviewer's own work; for maintainers, all reviewers' work and all cases."""
    user, reviewer = user_of(request), reviewer_of(request.user)
    if reviewer is None and not user.is_staff:
        raise Http404
    hidden = hidden_submissions(user)
    listed = dashboards.all_reviewers() if user.is_staff else [reviewer] if reviewer else []
    context: dict[str, Any] = {
        # The severity and trigger of a single waiting case would reveal something about it.
        "queue": dashboards.queue(hidden=hidden, by_severity=reviewer is None),
        "reasons": dashboards.reasons(hidden=hidden) if reviewer is None else [],
        "work": dashboards.work(listed, hidden=hidden),
        "reviewer": reviewer,
        "closed": bool(hidden),
    }
    if user.is_staff:
        context |= _for_maintainers(request, hidden, reviewer)
    return render(request, "reviews/dashboard.html", context)


def _for_maintainers(request: HttpRequest, hidden: frozenset[int], reviewer: Reviewer | None) -> dict[str, Any]:
    filters = StateForm(request.GET)
    state = filters.cleaned_data["state"] if filters.is_valid() else ""
    pages = Paginator(dashboards.cases(hidden=hidden, viewer=reviewer, state=state), CASES_A_PAGE)
    page = pages.get_page(request.GET.get("page"))
    return {
        "filters": filters,
        "state": state,
        "page": page,
        # The events' texts would reveal to annotators why a case is disputed.
        "cases": [(case, reviewer is None or case.state in CLOSED) for case in page],
        "export": ExportForm(auto_id="export_%s"),
    }


@never_cache
@maintainers_only
@require_safe
def labels_export(request: HttpRequest) -> HttpResponse:
    """Export labels as ``?format=`` ``csv`` or ``jsonl`` of ``?suite=`` (slug), without submissions being labelled."""
    form = ExportForm(request.GET)
    if not form.is_valid():
        raise Http404("There is no such format or suite. Choose them on the dashboard.")
    suite: Suite | None = form.cleaned_data["suite"]
    form_name = form.cleaned_data["format"]
    name = f"labels-{suite.slug if suite else 'all'}-{timezone.now():%Y%m%d}.{form_name}"
    streamed = StreamingHttpResponse(
        export(form=form_name, suite=suite, without=hidden_submissions(request.user)),
        content_type=_TYPES[form_name],
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
    return cast("HttpResponse", streamed)
