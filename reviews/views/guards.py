"""Restrict views to active reviewers."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_required
from django.http import Http404

from reviews.annotators.reviewers import reviewer_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

    View = Callable[..., HttpResponse]


def reviewers_only(view: View) -> View:
    """Call ``view`` with the request and the signed-in user's active reviewer; answer 404 to others."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        reviewer = reviewer_of(request.user)
        if reviewer is None:
            raise Http404
        return view(request, reviewer, *args, **kwargs)

    return login_required(guarded)
