"""The maintainers' page: held submissions, the queue, hiding, quotas, and who did what."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evaluator.models import Reevaluation
from evaluator.queue.results import retry_held
from evaluator.reevaluation import reevaluating
from leaderboard.forms import AuditFilterForm, QuotaForm, SubmissionNumberForm, VisibilityForm
from leaderboard.http import query_with
from leaderboard.operation.held import held_in_full
from leaderboard.operation.queue_state import infra_causes, queue_state
from reviews.views.guards import maintainers_only, user_of
from submissions.domain import publishing, quotas
from submissions.enums import SubmissionState, Visibility
from submissions.models import Submission, User
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from django import forms
    from django.http import HttpRequest, HttpResponse

EVENTS_A_PAGE = 50


@never_cache
@maintainers_only
@require_safe
def maintain(request: HttpRequest) -> HttpResponse:
    """Everything on one page."""
    return _page(request)


@action("maintain")
@maintainers_only
def maintain_retry(request: HttpRequest) -> HttpResponse:
    """Queue a held submission's runs again."""
    form = SubmissionNumberForm(request.POST)

    def retry() -> str:
        submission = form.cleaned_data["submission"]
        number = retry_held(submission=submission, actor=user_of(request))
        return f"Submission {submission.pk}: {number} run{'s are' if number != 1 else ' is'} queued again."

    return _act(request, name="retry", form=form, act=retry)


@action("maintain")
@maintainers_only
def maintain_hide(request: HttpRequest) -> HttpResponse:
    """Hide a submission for a public reason."""
    form = VisibilityForm(request.POST, auto_id="hide_%s")

    def hide() -> str:
        submission = form.cleaned_data["submission"]
        publishing.hide(submission=submission, actor=user_of(request), reason=form.cleaned_data["reason"])
        return f"Submission {submission.pk} is hidden."

    return _act(request, name="hide", form=form, act=hide)


@action("maintain")
@maintainers_only
def maintain_unhide(request: HttpRequest) -> HttpResponse:
    """Show a hidden submission again."""
    form = VisibilityForm(request.POST, auto_id="unhide_%s")

    def unhide() -> str:
        submission = form.cleaned_data["submission"]
        publishing.unhide(submission=submission, actor=user_of(request), reason=form.cleaned_data["reason"])
        return f"Submission {submission.pk} is {submission.get_visibility_display()} again."

    return _act(request, name="unhide", form=form, act=unhide)


@action("maintain")
@maintainers_only
def maintain_quota(request: HttpRequest) -> HttpResponse:
    """Give one person a daily limit of their own, or the instance's again."""
    form = QuotaForm(request.POST, auto_id="quota_%s")

    def set_limit() -> str:
        given = form.cleaned_data
        person = given["username"]
        quotas.set_limit(user=person, daily=given["daily"], actor=user_of(request), reason=given["reason"])
        return f"{person.username} may submit {quotas.limit(person)} times a day."

    return _act(request, name="quota", form=form, act=set_limit)


def _act(request: HttpRequest, *, name: str, form: forms.Form, act: Callable[[], str]) -> HttpResponse:
    """Do it, or show the page with the form and what is wrong."""

    def again() -> HttpResponse:
        return _page(request, status=HTTPStatus.UNPROCESSABLE_ENTITY, **{name: form})

    return perform(request, act, back="maintain", form=form, again=again)


def _page(request: HttpRequest, *, status: int = 200, **bound: Any) -> HttpResponse:
    """``bound`` are forms with errors: ``retry``, ``hide``, ``unhide``, ``quota``."""
    listed = Submission.objects.select_related("system", "owner", "suite_version__suite")
    held = list(listed.filter(state=SubmissionState.HELD))
    in_full = held_in_full(submission.pk for submission in held)
    audit = AuditFilterForm(request.GET)
    events = Paginator(audit.events(), EVENTS_A_PAGE).get_page(request.GET.get("page"))
    named = {"submission": request.GET.get("submission", "")}
    context = {
        "state": queue_state(),
        "causes": infra_causes(),
        "reevaluating": Reevaluation.objects.filter(state__in=reevaluating.OPEN).count(),
        "held": [(submission, in_full.get(submission.pk, submission.held_reason)) for submission in held],
        "hidden": listed.filter(visibility=Visibility.HIDDEN),
        "own_limits": User.objects.filter(daily_submissions__isnull=False).order_by("username"),
        "retry": None,
        "hide": VisibilityForm(initial=named, auto_id="hide_%s"),
        "unhide": VisibilityForm(initial=named, auto_id="unhide_%s"),
        "quota": QuotaForm(auto_id="quota_%s"),
        "audit": audit,
        "events": events,
        "previous_page": query_with(request.GET, page=str(events.number - 1)) if events.number > 1 else "",
        "next_page": query_with(request.GET, page=str(events.number + 1)) if events.has_next() else "",
        **bound,
    }
    return render(request, "leaderboard/maintain.html", context, status=status)
