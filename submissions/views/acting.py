"""Helpers for views that change something: require a signed-in POST, act, and show refusals."""

from __future__ import annotations

from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.shortcuts import redirect, render
from django.urls import reverse

from submissions.exceptions import SubmissionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from django import forms
    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase
    from django.shortcuts import SupportsGetAbsoluteUrl

    View = Callable[..., HttpResponseBase]

SIGNED_OUT = "You were signed out, so nothing was done and what you entered is lost. Sign in, then try again."


def action(page: str | Callable[..., str]) -> Callable[[View], View]:
    """Require a POST by a signed-in user.

    ``page`` is the URL name of the page with the form (it takes the view's arguments), or a function that returns
    its address from them. A GET is redirected there: after a refused form, the browser shows the action's address.
    Users who are signed out return there after signing in.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            back = reverse(page, kwargs=kwargs) if isinstance(page, str) else page(*args, **kwargs)
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


def perform(
    request: HttpRequest,
    act: Callable[[], object],
    *,
    back: str | SupportsGetAbsoluteUrl,
    done: str = "",
    form: forms.Form | None = None,
    again: Callable[[], HttpResponse] | None = None,
) -> HttpResponse:
    """Call ``act``, redirect ``back``, and show a message there: ``done``, or the text that ``act`` returns.

    Without a ``form``, a refusal is shown there too. With one, a refusal is added to it (``errors`` to their fields),
    and ``again`` renders the page with the form; an invalid form is handled alike.
    """
    if form is None or form.is_valid():
        try:
            message = act()
        except SubmissionError as error:
            if form is None:
                messages.warning(request, str(error))
            else:
                form.add_error(None, getattr(error, "errors", None) or str(error))
        else:
            if text := message if isinstance(message, str) else done:
                messages.success(request, text)
            return redirect(back)
    return again() if again else redirect(back)
