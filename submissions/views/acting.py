"""What all addresses that act have in common: they take a POST of somebody signed in, and answer the rest kindly."""

from __future__ import annotations

from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.shortcuts import redirect, render

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

    View = Callable[..., HttpResponse]

SIGNED_OUT = "You were signed out, so nothing was done and what you typed is lost. Sign in, then do it again."


def action(page: Callable[..., str]) -> Callable[[View], View]:
    """Let only a POST of somebody signed in reach the view.

    ``page`` gives, from the view's arguments, the address of the page with the form. A GET is sent there: after a
    refused form the action's address stands in the browser. Whoever is signed out may come back there.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            back = page(*args, **kwargs)
            if request.method in {"GET", "HEAD"}:
                return redirect(back)
            if request.method != "POST":
                refused = render(request, "405.html", {"back": back}, status=HTTPStatus.METHOD_NOT_ALLOWED)
                refused["Allow"] = "GET, HEAD, POST"
                return refused
            if not request.user.is_authenticated:
                messages.warning(request, SIGNED_OUT)
                return redirect_to_login(back)
            return view(request, *args, **kwargs)

        return guarded

    return decorate
