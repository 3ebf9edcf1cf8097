"""Return the signed-in user, and restrict views to maintainers."""

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
    """Return the signed-in user, in views and operations that require one."""
    assert isinstance(request.user, User)  # noqa: S101 - for the type checker: the guards ensure it
    return request.user


def maintainers_only(view: View) -> View:
    """Send visitors to sign-in, and answer 404 to accounts that are not maintainers."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not getattr(request.user, "is_staff", False):
            raise Http404("This page needs a maintainer's account.")
        return view(request, *args, **kwargs)

    return login_required(guarded)
