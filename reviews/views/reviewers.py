"""Maintainers' pages of reviewers, their roles, and invitations."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from django.contrib import messages
from django.db.models import Count, Max, OuterRef, Q, Subquery
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from reviews.annotators import invitations, practice
from reviews.annotators.reviewers import set_roles
from reviews.enums import CaseKind
from reviews.forms import InviteForm, RolesForm
from reviews.models import Assignment, Invitation, Reviewer
from submissions.domain import invitation_links
from submissions.domain.audit import history
from submissions.exceptions import SubmissionError
from submissions.permissions import maintainers_only, user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse

_LINK: Final = "review_invitation_link"
_SHOWN_ROWS: Final = 50
_ROLES: Final = {"is_annotator": "annotator", "is_adjudicator": "adjudicator", "active": "active"}


def _address(**_arguments: int) -> str:
    return reverse("review_people")


@never_cache
@maintainers_only
@require_safe
def listed(request: HttpRequest) -> HttpResponse:
    """List all reviewers and the newest invitations. A new invitation's link is shown here once."""
    return _page(request, link=request.session.pop(_LINK, ""))


@action(_address)
@maintainers_only
def invite(request: HttpRequest) -> HttpResponse:
    """Create an invitation, and the practice round if needed."""
    form = InviteForm(request.POST)

    def make() -> None:
        _, secret = invitations.invite(actor=user_of(request), **form.cleaned_data)
        request.session[_LINK] = request.build_absolute_uri(reverse("review_join", args=[secret]))
        try:
            practice.ensure_practice()
        except SubmissionError as error:
            messages.warning(request, f"There are no practice items yet: {error}")

    back = f"{_address()}#invitations"
    return perform(request, make, back=back, form=form, again=lambda: _page(request, form=form))


@action(_address)
@maintainers_only
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke an unused invitation."""
    invitation = get_object_or_404(Invitation, pk=pk)
    return perform(
        request,
        lambda: invitations.revoke(actor=user_of(request), invitation=invitation),
        back=f"{_address()}#invitations",
        done="The invitation is revoked: its link no longer works.",
    )


@never_cache
@maintainers_only
@require_http_methods(["GET", "HEAD", "POST"])
def one(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a reviewer's profile and history, and change the roles."""
    reviewer = get_object_or_404(_with_activity(), pk=pk)
    if request.method != "POST":
        return _one(request, reviewer, RolesForm.of(reviewer))
    form = RolesForm(request.POST)

    def change() -> str:
        returned = set_roles(actor=user_of(request), reviewer=reviewer, **form.cleaned_data)
        what = "the roles are changed; the held item went back to the queue" if returned else "the roles are changed"
        return f"{reviewer.public_name}: {what}."

    return perform(request, change, back="review_people", form=form, again=lambda: _one(request, reviewer, form))


def _one(request: HttpRequest, reviewer: Reviewer, form: RolesForm) -> HttpResponse:
    context = {
        "reviewer": reviewer,
        "form": form,
        "conflicts": reviewer.conflicts.select_related("system"),
        "events": [(event, _change_text(event.data)) for event in history(reviewer)[:_SHOWN_ROWS]],
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "reviews/reviewer.html", context, status=status)


def _change_text(data: dict[str, Any]) -> str:
    """Describe an event's change: a conflict, parts of the profile, or roles."""
    if "conflict" in data:
        change = data["conflict"]
        return f"new conflict with {change['after']}" if change["after"] else f"ended conflict with {change['before']}"
    if "changed" in data:
        return f"profile: {', '.join(data['changed'])}".replace("_", " ")
    before, after = data.get("before", {}), data.get("after", {})
    changed = [
        f"{'now' if after[name] else 'not'} {_ROLES[name]}" for name in _ROLES if before.get(name) != after.get(name)
    ]
    return ", ".join(changed or [f"as {' and '.join(data.get('roles', []))}"])


def _with_activity() -> QuerySet[Reviewer]:
    """Return reviewers with ``labels`` (without practice), ``last_label`` and ``last_taken``."""
    taken = Assignment.objects.filter(reviewer=OuterRef("pk")).order_by().values("reviewer")
    counted = ~Q(reviews__case__kind=CaseKind.PRACTICE)
    return Reviewer.objects.select_related("user").annotate(
        labels=Count("reviews", filter=counted),
        last_label=Max("reviews__locked"),
        last_taken=Subquery(taken.annotate(newest=Max("created")).values("newest")),
    )


def _page(request: HttpRequest, *, link: str = "", form: InviteForm | None = None) -> HttpResponse:
    """Render the list; ``form`` is a refused invitation."""
    rows: list[Any] = list(_with_activity().order_by("-active", "pseudonym"))
    newest = Invitation.objects.select_related("created_by", "used_by")[:_SHOWN_ROWS]
    context = {
        "rows": [(row, max(filter(None, (row.last_label, row.last_taken)), default=None)) for row in rows],
        "invitations": [(each, invitation_links.problem_with(each)) for each in newest],
        "days": invitation_links.INVITATION_DAYS,
        "form": form or InviteForm(),
        "link": link,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form else HTTPStatus.OK
    return render(request, "reviews/reviewers.html", context, status=status)
