"""Who may open which page of reviewing."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_required
from django.http import Http404

from reviews.models import Assignment
from reviews.people.reviewers import reviewer_of
from submissions.models import User

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

    View = Callable[..., HttpResponse]


def maintainers_only(view: View) -> View:
    """Ask strangers to sign in; for everybody else who is no maintainer the page does not exist."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not getattr(request.user, "is_staff", False):
            raise Http404
        return view(request, *args, **kwargs)

    return login_required(guarded)


def reviewers_only(view: View) -> View:
    """Call ``view`` with the request and the active reviewer who asks. For others the page does not exist."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        reviewer = reviewer_of(request.user)
        if reviewer is None:
            raise Http404
        return view(request, reviewer, *args, **kwargs)

    return login_required(guarded)


def own_assignment(request: HttpRequest, pk: int) -> Assignment:
    """One's own assignment, in any state. Raises Http404 for everybody else's, whoever asks."""
    reviewer = reviewer_of(request.user)
    own = Assignment.objects.select_related("case", "reviewer").filter(pk=pk, reviewer=reviewer).first()
    if reviewer is None or own is None:
        raise Http404("There is no such item.")
    return own


def user_of(request: HttpRequest) -> User:
    """Whoever asks, on pages that only the signed-in reach."""
    assert isinstance(request.user, User)  # noqa: S101 - for the type checker: the guards have seen to it
    return request.user
