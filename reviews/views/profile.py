"""Page of a reviewer's own profile, conflicts of interest and keys."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from reviews.annotators import conflicts, reviewers
from reviews.forms import ConflictForm, ProfileForm
from reviews.views.guards import reviewers_only
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from reviews.models import Reviewer

_RETURNED = " The item that you held is of a system or organisation in conflict: it was handed back."


def _address(**_arguments: int) -> str:
    return reverse("review_profile")


@never_cache
@reviewers_only
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: HttpRequest, reviewer: Reviewer) -> HttpResponse:
    """Show profile and conflicts; a POST stores the profile."""
    if request.method != "POST":
        return _page(request, reviewer)
    form = ProfileForm(reviewer, request.POST)

    def store() -> str:
        returned = reviewers.update_profile(reviewer=reviewer, **form.cleaned_data)
        return "Your profile is saved." + _RETURNED * bool(returned)

    return perform(request, store, back="reviews", form=form, again=lambda: _page(request, reviewer, form=form))


@action(_address)
@reviewers_only
def conflict_add(request: HttpRequest, reviewer: Reviewer) -> HttpResponse:
    """Declare a conflict of interest."""
    form = ConflictForm(reviewer, request.POST)

    def add() -> str:
        returned = conflicts.add_conflict(reviewer=reviewer, **form.cleaned_data)
        return "The conflict is recorded: you will not get such answers." + _RETURNED * bool(returned)

    back = f"{_address()}#conflicts"
    return perform(request, add, back=back, form=form, again=lambda: _page(request, reviewer, conflict_form=form))


@action(_address)
@reviewers_only
def conflict_remove(request: HttpRequest, reviewer: Reviewer, pk: int) -> HttpResponse:
    """Remove a conflict."""
    conflict = get_object_or_404(reviewer.conflicts.select_related("system"), pk=pk)
    conflicts.remove_conflict(reviewer=reviewer, conflict=conflict)
    messages.success(request, f"The conflict with {conflict} is removed.")
    return redirect(f"{_address()}#conflicts")


def _page(request: HttpRequest, reviewer: Reviewer, **refused: Any) -> HttpResponse:
    """Render the page. ``refused`` is the form with errors: ``form`` or ``conflict_form``."""
    context = {
        "reviewer": reviewer,
        "form": ProfileForm(reviewer),
        "conflicts": reviewer.conflicts.select_related("system"),
        "conflict_form": ConflictForm(reviewer),
        **refused,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if refused else HTTPStatus.OK
    return render(request, "reviews/profile.html", context, status=status)
