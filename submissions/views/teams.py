"""Pages of teams: a user's teams, one team with its members and invitations, joining, and handing over."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.db.models import Count
from django.http import Http404
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from submissions.domain import endpoints, invitation_links, quotas
from submissions.domain import teams as domain
from submissions.domain.audit import history
from submissions.enums import TeamRole
from submissions.exceptions import SubmissionError
from submissions.forms import HandOverForm, TeamForm, TeamInviteForm, TeamRoleForm
from submissions.models import Membership, System, TeamInvitation
from submissions.permissions import user_of
from submissions.views.acting import SIGNED_OUT, action, perform

if TYPE_CHECKING:
    from django import forms
    from django.http import HttpRequest, HttpResponse

    from submissions.models import Endpoint, Team

_LINK: Final = "team_invitation_link"
_SHOWN_ROWS: Final = 50


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def teams(request: HttpRequest) -> HttpResponse:
    """List the user's teams, and create one."""
    user = user_of(request)
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = domain.create(actor=user, name=form.cleaned_data["name"])
        except SubmissionError as error:
            form.add_error("name", str(error))
        else:
            messages.success(request, "The team is created. Invite its members.")
            return redirect(made)
    mine = Membership.objects.filter(user=user).select_related("team").order_by("team__name", "pk")
    sizes = dict(
        Membership.objects.filter(team__in=mine.values("team")).order_by().values_list("team").annotate(Count("pk"))
    )
    context = {"rows": [(each, sizes[each.team_id]) for each in mine], "form": form}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "submissions/teams.html", context, status=status)


@never_cache
@login_required
@require_safe
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a team to its members and to maintainers. A new invitation's link is shown here once."""
    return _page(request, _team(request, slug), link=request.session.pop(_LINK, ""))


def _team(request: HttpRequest, slug: str) -> Team:
    return get_object_or_404(domain.visible_to(request.user), slug=slug)


def _page(request: HttpRequest, shown: Team, *, link: str = "", **refused: forms.Form) -> HttpResponse:
    """Render the page; ``refused`` is a form with errors, by its name."""
    user = user_of(request)
    members = list(shown.memberships.select_related("user"))
    leads = domain.may_lead(user, shown)
    newest = shown.invitations.select_related("created_by", "used_by")[:_SHOWN_ROWS] if leads else ()
    context = {
        "team": shown,
        "members": [(each, TeamRoleForm(initial={"role": each.role}, auto_id=f"m{each.pk}_%s")) for each in members],
        "own": next((each for each in members if each.user_id == user.pk), None),
        "leads": leads,
        "invites": domain.may_invite(user, shown),
        "invitations": [(each, invitation_links.problem_with(each)) for each in newest],
        "days": invitation_links.INVITATION_DAYS,
        "link": link,
        "invite": TeamInviteForm(),
        "rename": TeamForm(initial={"name": shown.name}, auto_id="rename_%s"),
        "events": history(shown)[:_SHOWN_ROWS],
        "submissions": shown.submissions.count(),
        "quota_limit": quotas.limit(shown),
        "quota_used": quotas.used_today(shown),
        # The forms are not shown to those who may not use them, but why one was refused is.
        "refusals": [] if leads else [error for form in refused.values() for error in form.non_field_errors()],
        **refused,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if refused else HTTPStatus.OK
    return render(request, "submissions/team.html", context, status=status)


@action("team")
def team_rename(request: HttpRequest, slug: str) -> HttpResponse:
    """Rename a team."""
    shown, form = _team(request, slug), TeamForm(request.POST, auto_id="rename_%s")

    def act() -> str:
        domain.rename(team=shown, actor=user_of(request), name=form.cleaned_data["name"])
        return "The team is renamed; its address stays."

    return perform(request, act, back=shown, form=form, again=lambda: _page(request, shown, rename=form))


@action("team")
def team_invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Create an invitation to a team."""
    shown, form = _team(request, slug), TeamInviteForm(request.POST)

    def act() -> None:
        _, secret = domain.invite(team=shown, actor=user_of(request), **form.cleaned_data)
        request.session[_LINK] = request.build_absolute_uri(reverse("team_join", args=[secret]))

    back = f"{shown.get_absolute_url()}#invitations"
    return perform(request, act, back=back, form=form, again=lambda: _page(request, shown, invite=form))


def _page_of(slug: str, **_arguments: int) -> str:
    return reverse("team", args=[slug])


@action(_page_of)
def team_revoke(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Revoke an unused invitation."""
    shown = _team(request, slug)
    invitation = get_object_or_404(TeamInvitation.objects.select_related("team"), pk=pk, team=shown)
    act = partial(domain.revoke, invitation=invitation, actor=user_of(request))
    done = "The invitation is revoked: its link no longer works."
    return perform(request, act, back=f"{shown.get_absolute_url()}#invitations", done=done)


@action(_page_of)
def team_role(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Change a member's role."""
    shown, form = _team(request, slug), TeamRoleForm(request.POST)
    member = get_object_or_404(Membership.objects.select_related("team", "user"), pk=pk, team=shown)
    if not form.is_valid():
        messages.warning(request, f"Choose one of the roles {', '.join(TeamRole.values)}.")
        return redirect(shown)
    act = partial(domain.set_role, membership=member, actor=user_of(request), role=form.cleaned_data["role"])
    return perform(request, act, back=shown, done=f"{member.user.username}: {form.cleaned_data['role']}.")


@action(_page_of)
def team_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Remove a member, or leave the team."""
    shown, actor = _team(request, slug), user_of(request)
    member = get_object_or_404(Membership.objects.select_related("team", "user"), pk=pk, team=shown)
    try:
        domain.remove(membership=member, actor=actor)
    except SubmissionError as error:
        messages.warning(request, str(error))
        return redirect(shown)
    if member.user_id != actor.pk:
        messages.success(request, f"{member.user.username} is no longer in {shown}.")
        return redirect(shown)
    messages.success(request, f"You have left {shown}. What you sent for it stays with it.")
    return redirect("teams")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def team_join(request: HttpRequest, secret: str) -> HttpResponse:
    """Show and accept an invitation. Users who are signed out return here after signing in."""
    invitation = domain.invitation_of(secret)
    if invitation is None:
        raise Http404("There is no such invitation. Open the complete link that you received.")
    if request.user.is_authenticated and invitation.used_by_id == request.user.pk:
        return redirect("teams")
    problem, status = invitation_links.problem_with(invitation), HTTPStatus.OK
    if problem:
        status = HTTPStatus.GONE
    elif request.method == "POST":
        if not request.user.is_authenticated:
            messages.warning(request, SIGNED_OUT)
            return redirect_to_login(request.path)
        try:
            joined = domain.accept(user=user_of(request), secret=secret)
        except SubmissionError as error:
            problem, status = str(error), HTTPStatus.CONFLICT
        else:
            messages.success(request, f"You are now in {joined.team}, as {joined.role}.")
            return redirect(joined.team)
    context = {"invitation": invitation, "problem": problem}
    return render(request, "submissions/team_join.html", context, status=status)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def system_hand_over(request: HttpRequest, slug: str) -> HttpResponse:
    """Give one's own system with its submissions to a team."""
    return _hand_over(request, get_object_or_404(System, slug=slug, owner=user_of(request), team=None))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def endpoint_hand_over(request: HttpRequest, pk: int) -> HttpResponse:
    """Give one's own endpoint to a team."""
    own = endpoints.visible_to(request.user).filter(owner=user_of(request), team=None)
    return _hand_over(request, get_object_or_404(own, pk=pk))


def _hand_over(request: HttpRequest, row: System | Endpoint) -> HttpResponse:
    user = user_of(request)
    form = HandOverForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid() and form.cleaned_data.get("team"):
        try:
            domain.hand_over(row=row, team=form.cleaned_data["team"], actor=user)
        except SubmissionError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{row} now belongs to {row.team}.")
            return redirect(row)
    context: dict[str, Any] = {"row": row, "form": form, "is_system": isinstance(row, System)}
    if isinstance(row, System):
        context["submissions"] = row.submissions.count()
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "submissions/hand_over.html", context, status=status)
