"""Show the maintainers' page (held submissions, queue, hiding, quotas, audit log) and carry out its actions."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evaluator.generation.generating import retry_held
from evaluator.models import Reevaluation
from evaluator.reevaluation.planning import UNDER_WAY
from leaderboard.board.filters import AuditFilter
from leaderboard.health.queues import held_in_full, infra_causes, queue_state
from leaderboard.web.forms import QuotaForm, SubmissionNumberForm, VisibilityForm
from submissions.domain import publishing, quotas
from submissions.enums import SubmissionState, Visibility
from submissions.models import AuditEvent, Submission, User
from submissions.permissions import maintainers_only, user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from django import forms
    from django.http import HttpRequest, HttpResponse

    from submissions.views.acting import View

EVENTS_A_PAGE = 50


@never_cache
@maintainers_only
@require_safe
def maintain(request: HttpRequest) -> HttpResponse:
    """Show the maintainers' page."""
    return _page(request)


def _form_view(name: str, form_class: type[forms.Form], act: Callable[[dict[str, Any], User], str]) -> View:
    """Return a view that acts on a valid form, or shows the page with the form's errors."""

    @action("maintain")
    @maintainers_only
    def view(request: HttpRequest) -> HttpResponse:
        form = form_class(request.POST, auto_id=f"{name}_%s")
        return perform(
            request,
            lambda: act(form.cleaned_data, user_of(request)),
            back="maintain",
            form=form,
            again=lambda: _page(request, status=HTTPStatus.UNPROCESSABLE_ENTITY, **{name: form}),
        )

    return view


def _retry(given: dict[str, Any], actor: User) -> str:
    number = retry_held(submission=given["submission"], actor=actor)
    return f"Submission {given['submission'].pk}: {number} run{'s are' if number != 1 else ' is'} queued again."


def _hide(given: dict[str, Any], actor: User) -> str:
    publishing.hide(submission=given["submission"], actor=actor, reason=given["reason"])
    return f"Submission {given['submission'].pk} is hidden."


def _unhide(given: dict[str, Any], actor: User) -> str:
    submission = given["submission"]
    publishing.unhide(submission=submission, actor=actor, reason=given["reason"])
    return f"Submission {submission.pk} is {submission.get_visibility_display()} again."


def _set_limit(given: dict[str, Any], actor: User) -> str:
    person = given["username"]
    quotas.set_limit(user=person, daily=given["daily"], actor=actor, reason=given["reason"])
    return f"{person.username} may submit {quotas.limit(person)} times a day."


maintain_retry = _form_view("retry", SubmissionNumberForm, _retry)
maintain_hide = _form_view("hide", VisibilityForm, _hide)
maintain_unhide = _form_view("unhide", VisibilityForm, _unhide)
maintain_quota = _form_view("quota", QuotaForm, _set_limit)


def _page(request: HttpRequest, *, status: int = 200, **bound: Any) -> HttpResponse:
    """Render the page; ``bound`` are forms with errors: ``retry``, ``hide``, ``unhide``, ``quota``."""
    listed = Submission.objects.select_related("system", "owner", "suite_version__suite")
    held = list(listed.filter(state=SubmissionState.HELD))
    in_full = held_in_full(submission.pk for submission in held)
    audit = AuditFilter(request.GET, queryset=AuditEvent.objects.select_related("actor"))
    events = Paginator(audit.qs, EVENTS_A_PAGE).get_page(request.GET.get("page"))
    named = {"submission": request.GET.get("submission", "")}
    context = {
        "state": queue_state(),
        "causes": infra_causes(),
        "reevaluating": Reevaluation.objects.filter(state__in=UNDER_WAY).count(),
        "held": [(submission, in_full.get(submission.pk, submission.held_reason)) for submission in held],
        "hidden": listed.filter(visibility=Visibility.HIDDEN),
        "own_limits": User.objects.filter(daily_submissions__isnull=False).order_by("username"),
        "retry": None,
        "hide": VisibilityForm(initial=named, auto_id="hide_%s"),
        "unhide": VisibilityForm(initial=named, auto_id="unhide_%s"),
        "quota": QuotaForm(auto_id="quota_%s"),
        "audit": audit,
        "events": events,
        **bound,
    }
    return render(request, "leaderboard/maintain.html", context, status=status)
