"""Who is signed in, and who may open a page."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_required
from django.http import Http404

from submissions.models import User

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

    View = Callable[..., HttpResponse]


def user_of(request: HttpRequest) -> User:
    """Return the signed-in user, on pages and operations that only the signed-in reach."""
    assert isinstance(request.user, User)  # noqa: S101 - for the type checker: the guards have seen to it
    return request.user


def maintainers_only(view: View) -> View:
    """Ask visitors to sign in; for accounts that are no maintainer's the page does not exist."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not getattr(request.user, "is_staff", False):
            raise Http404
        return view(request, *args, **kwargs)

    return login_required(guarded)
