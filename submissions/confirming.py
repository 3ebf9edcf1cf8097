"""Have people confirm who they are before they change how one signs in to their account."""

from __future__ import annotations

import time
from functools import wraps
from typing import TYPE_CHECKING, Any

from allauth.account import app_settings as account_settings
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.internal.flows.reauthentication import get_reauthentication_flows
from django.contrib import messages
from django.shortcuts import redirect

from submissions.models import User

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    View = Callable[..., HttpResponseBase]

SIGN_IN_AGAIN = "First sign out and in again, so that this site knows that it is you: the account has no password."


def signed_in_recently(request: HttpRequest, user: User) -> bool:
    """Return whether ``user`` signed in within the last minutes."""
    times = [record["at"] for record in get_authentication_records(request, user)]
    return bool(times) and time.time() - max(times) < account_settings.REAUTHENTICATION_TIMEOUT


def needs_new_sign_in(request: HttpRequest) -> bool:
    """Return whether an account that has neither password nor factor to confirm with must sign in again."""
    user = request.user
    return isinstance(user, User) and not get_reauthentication_flows(user) and not signed_in_recently(request, user)


def with_new_sign_in(view: View) -> View:
    """Send accounts that have nothing else to confirm with to sign out and in again."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if needs_new_sign_in(request):
            messages.warning(request, SIGN_IN_AGAIN)
            return redirect("account_logout")
        return view(request, *args, **kwargs)

    return guarded
