"""Show maintainers what waits for them, and lists of submissions, accounts, teams, suites and events with actions."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from evaluator.generation.generating import retry_held
from leaderboard.board.filters import AccountFilter, AuditFilter, SubmissionFilter, SuiteFilter, TeamFilter
from leaderboard.board.visibility import closed_submissions
from leaderboard.evidence.events import event_rows
from leaderboard.evidence.suites import suite_rows
from leaderboard.health.inbox import MOST_LINES, inbox
from leaderboard.health.oldest import oldest_in_each_state
from leaderboard.health.queues import infra_causes, queue_state
from leaderboard.web.forms import QuotaForm, SubmissionNumberForm, TeamQuotaForm, VisibilityForm
from submissions.domain import publishing, quotas
from submissions.enums import Visibility
from submissions.models import AuditEvent, Membership, Submission, Team, User
from submissions.permissions import maintainers_only, user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from django import forms
    from django.core.paginator import Page
    from django.db.models import Model
    from django.http import HttpRequest, HttpResponse

    from leaderboard.board.filters import ListFilter
    from submissions.views.acting import View

    Lister = Callable[..., HttpResponse]

ROWS: Final = 50
"""Rows of a page of every list."""


class Row(NamedTuple):
    """A row of a list with the form of its action; ``opened`` if the form has errors."""

    subject: Model
    form: forms.Form
    opened: bool


@never_cache
@maintainers_only
@require_safe
def maintain(request: HttpRequest) -> HttpResponse:
    """Show what waits for a maintainer, and the state of work."""
    return _inbox(request)


@never_cache
@maintainers_only
@require_safe
def maintain_submissions(request: HttpRequest) -> HttpResponse:
    """List all submissions: ``?q=&suite=&state=&visibility=&page=``."""
    return _submissions(request)


@never_cache
@maintainers_only
@require_safe
def maintain_accounts(request: HttpRequest) -> HttpResponse:
    """List all accounts: ``?q=&who=&page=``."""
    return _accounts(request)


@never_cache
@maintainers_only
@require_safe
def maintain_teams(request: HttpRequest) -> HttpResponse:
    """List all teams: ``?q=&page=``."""
    return _teams(request)


@never_cache
@maintainers_only
@require_safe
def maintain_suites(request: HttpRequest) -> HttpResponse:
    """List the suites: ``?q=&page=``."""
    found = SuiteFilter(request.GET, queryset=Suite.objects.all())
    page = _page_of(request, found)
    return _listed(request, "suite", {"filter": found, "page": page, "rows": suite_rows(page)})


@never_cache
@maintainers_only
@require_safe
def maintain_events(request: HttpRequest) -> HttpResponse:
    """List the audit events, newest first: ``?verb=&subject=&page=``."""
    found = AuditFilter(request.GET, queryset=AuditEvent.objects.select_related("actor"))
    page = _page_of(request, found)
    rows = event_rows(page, hidden=closed_submissions(request))
    return _listed(request, "event", {"filter": found, "page": page, "rows": rows})


def _form_view(
    form_class: type[forms.Form], act: Callable[[dict[str, Any], User], str], *, page: str, again: Lister
) -> View:
    """Return a view that acts on a valid form and leads back to the list as it was filtered.

    The query string of the form's address is the list's; ``again`` shows the list with the form's errors.
    """

    @action(page)
    @maintainers_only
    def view(request: HttpRequest) -> HttpResponse:
        form = form_class(request.POST)
        query = request.GET.urlencode()
        return perform(
            request,
            lambda: act(form.cleaned_data, user_of(request)),
            back=reverse(page) + (f"?{query}" if query else ""),
            form=form,
            again=lambda: again(request, form, status=HTTPStatus.UNPROCESSABLE_ENTITY),
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
    holder: User | Team = given.get("slug") or given["username"]
    quotas.set_limit(holder=holder, daily=given["daily"], actor=actor, reason=given["reason"])
    return f"{holder} may submit {quotas.limit(holder):,} times a day."


def _inbox(request: HttpRequest, failed: forms.Form | None = None, *, status: int = 200) -> HttpResponse:
    """Render the inbox; ``failed`` is a form that was refused."""
    state = queue_state()
    found = inbox(state, hidden=closed_submissions(request))
    context = {
        "inbox": found,
        "oldest": oldest_in_each_state(found, state),
        "most": MOST_LINES,
        "state": state,
        "causes": infra_causes(),
        "failed": failed,
    }
    return render(request, "leaderboard/maintain.html", context, status=status)


def _submissions(request: HttpRequest, failed: forms.Form | None = None, *, status: int = 200) -> HttpResponse:
    """Render the submissions, each with the form that hides it or shows it again."""
    listed = Submission.objects.select_related("system", "owner", "team", "suite_version__suite")
    found = SubmissionFilter(request.GET, queryset=listed)
    page = _page_of(request, found)
    named = str(failed["submission"].value()) if failed else ""
    rows = [
        Row(each, failed, opened=True)
        if failed and str(each.pk) == named
        else Row(each, VisibilityForm(initial={"submission": each.pk}, auto_id=f"s{each.pk}_%s"), opened=False)
        for each in page
    ]
    context = {
        "filter": found,
        "page": page,
        "rows": rows,
        "hidden": Visibility.HIDDEN,
        # The row of the refused form is not on this page.
        "failed": failed if failed and not any(row.opened for row in rows) else None,
    }
    return _listed(request, "submission", context, status=status)


def _accounts(request: HttpRequest, failed: forms.Form | None = None, *, status: int = 200) -> HttpResponse:
    """Render the accounts, each with the form that sets its daily limit."""
    listed = User.objects.annotate(sent=Count("submissions")).order_by("-date_joined", "-pk")
    found = AccountFilter(request.GET, queryset=listed)
    return _limits(request, "account", found, QuotaForm, "username", failed, status)


def _teams(request: HttpRequest, failed: forms.Form | None = None, *, status: int = 200) -> HttpResponse:
    """Render the teams, each with the form that sets its daily limit."""
    members, sent = (
        Subquery(
            model.objects.filter(team=OuterRef("pk")).order_by().values("team").annotate(n=Count("pk")).values("n")
        )
        for model in (Membership, Submission)
    )
    listed = Team.objects.annotate(members=Coalesce(members, 0), sent=Coalesce(sent, 0)).order_by("-created", "-pk")
    found = TeamFilter(request.GET, queryset=listed)
    return _limits(request, "team", found, TeamQuotaForm, "slug", failed, status)


def _limits(
    request: HttpRequest,
    noun: str,
    found: ListFilter,
    form_class: type[forms.Form],
    key: str,
    failed: forms.Form | None,
    status: int,
) -> HttpResponse:
    """Render rows with a daily limit; the form's field ``key`` names a row by its field of the same name."""
    page = _page_of(request, found)
    named = str(failed[key].value()) if failed else ""
    rows = [
        Row(each, failed, opened=True)
        if failed and getattr(each, key) == named
        else Row(
            each,
            form_class(
                initial={key: getattr(each, key), "daily": each.daily_submissions}, auto_id=f"{noun}{each.pk}_%s"
            ),
            opened=False,
        )
        for each in page
    ]
    context = {
        "filter": found,
        "page": page,
        "rows": rows,
        "usual": settings.ENVIRONMENT.daily_submissions,
        "failed": failed if failed and not any(row.opened for row in rows) else None,
    }
    return _listed(request, noun, context, status=status)


def _listed(request: HttpRequest, noun: str, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """Render a list of what ``noun`` names, with its tab and headings."""
    here = f"maintain_{noun}s"
    return render(request, f"leaderboard/{here}.html", {**context, "noun": noun, "here": here}, status=status)


def _page_of(request: HttpRequest, found: ListFilter) -> Page[Any]:
    return Paginator(found.qs, ROWS).get_page(request.GET.get("page"))


maintain_retry = _form_view(SubmissionNumberForm, _retry, page="maintain", again=_inbox)
maintain_hide = _form_view(VisibilityForm, _hide, page="maintain_submissions", again=_submissions)
maintain_unhide = _form_view(VisibilityForm, _unhide, page="maintain_submissions", again=_submissions)
maintain_quota = _form_view(QuotaForm, _set_limit, page="maintain_accounts", again=_accounts)
maintain_team_quota = _form_view(TeamQuotaForm, _set_limit, page="maintain_teams", again=_teams)
