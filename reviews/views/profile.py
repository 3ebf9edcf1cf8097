"""Page of a reviewer's own profile, conflicts of interest and keys."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from django.contrib import messages
from django.db import transaction
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

_TYPED: Final = "review_profile_typed"
_RETURNED: Final = " The item that you held is of a system or organisation in conflict: it was handed back."


def _address(**_arguments: int) -> str:
    return reverse("review_profile")


@never_cache
@reviewers_only
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: HttpRequest, reviewer: Reviewer) -> HttpResponse:
    """Show profile and conflicts; a POST stores the profile, with a conflict that is typed but not added yet."""
    if request.method != "POST":
        return _page(request, reviewer, form=ProfileForm(reviewer, typed=request.session.pop(_TYPED, None)))
    form, conflict_form = ProfileForm(reviewer, request.POST), ConflictForm(reviewer, request.POST)
    declares = conflict_form.has_changed()

    def again() -> HttpResponse:
        shown = conflict_form if declares else ConflictForm(reviewer)
        return _page(request, reviewer, form=form, conflict_form=shown, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    def store() -> str:
        with transaction.atomic():
            returned = conflicts.add_conflict(reviewer=reviewer, **conflict_form.cleaned_data) if declares else 0
            returned += reviewers.update_profile(reviewer=reviewer, **form.cleaned_data)
        return "Your profile is saved." + _RETURNED * bool(returned)

    if declares and not conflict_form.is_valid():
        return again()
    return perform(request, store, back="reviews", form=form, again=again)


@action(_address)
@reviewers_only
def conflict_add(request: HttpRequest, reviewer: Reviewer) -> HttpResponse:
    """Declare a conflict of interest."""
    form = ConflictForm(reviewer, request.POST)

    def add() -> str:
        returned = conflicts.add_conflict(reviewer=reviewer, **form.cleaned_data)
        request.session[_TYPED] = _typed(request)
        return "The conflict is recorded: you will not get such answers." + _RETURNED * bool(returned)

    def again() -> HttpResponse:
        kept = ProfileForm(reviewer, typed=_typed(request))
        return _page(request, reviewer, form=kept, conflict_form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    return perform(request, add, back=f"{_address()}#conflicts", form=form, again=again)


@action(_address)
@reviewers_only
def conflict_remove(request: HttpRequest, reviewer: Reviewer, pk: int) -> HttpResponse:
    """Remove a conflict."""
    conflict = get_object_or_404(reviewer.conflicts.select_related("system"), pk=pk)
    conflicts.remove_conflict(reviewer=reviewer, conflict=conflict)
    request.session[_TYPED] = _typed(request)
    messages.success(request, f"The conflict with {conflict} is removed.")
    return redirect(f"{_address()}#conflicts")


def _typed(request: HttpRequest) -> dict[str, str]:
    """Return the text of the profile that came with a conflict, to show it again."""
    return {name: request.POST.get(name, "") for name in ProfileForm.base_fields}


def _page(
    request: HttpRequest,
    reviewer: Reviewer,
    *,
    form: ProfileForm,
    conflict_form: ConflictForm | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    context = {
        "reviewer": reviewer,
        "form": form,
        "conflicts": reviewer.conflicts.select_related("system"),
        "conflict_form": conflict_form or ConflictForm(reviewer),
    }
    return render(request, "reviews/profile.html", context, status=status)
