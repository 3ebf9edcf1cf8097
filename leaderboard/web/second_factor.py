"""Show users who lack a required second factor nothing but the pages on which they add one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from allauth.account.internal.flows.login import get_authentication_records
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.shortcuts import redirect
from django.urls import reverse

from submissions.domain import second_factor
from submissions.permissions import user_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

NEXT: Final = "after_second_factor"
"""The session's name for the page to which the person returns after adding a factor."""
_OPEN: Final = ("account_", "mfa_", "socialaccount_", "github_", "orcid_", "docs")
"""Beginnings of the names of pages that stay open: allauth's, for the own account, and the documentation."""
_UNCONFIRMED: Final = frozenset({"mfa_reauthenticate", "mfa_reauthenticate_webauthn", "account_logout"})
"""All that is open of these to a session that has not used the account's factor: the others could replace it."""
_SHOW_CODES: Final = frozenset(
    {"mfa_view_recovery_codes", "mfa_download_recovery_codes", "mfa_generate_recovery_codes"}
)
_OTHERS: Final = frozenset({"healthz", "readyz", "metrics", "favicon", "robots", "security_txt"})


class SecondFactorMiddleware:
    """Send users who need a second factor, or have not used it in this session, to the page for it.

    The API is left out: it ignores sessions, and checks the owners of tokens itself.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on; :meth:`process_view` decides."""
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:  # noqa: ARG002 - Django's signature
        """Return a redirect, or None to show the page."""
        match = request.resolver_match
        if match is None or match.namespaces == ["api"] or not (role := second_factor.required_as(request.user)):
            return None
        user = user_of(request)
        has_one = second_factor.has(user)
        request.second_factor_missing_as = "" if has_one else role  # type: ignore[attr-defined]
        name = match.url_name or ""
        if has_one and any(used["method"] == "mfa" for used in get_authentication_records(request, user)):
            if not name.startswith(_OPEN):
                request.session.pop(NEXT, None)
            return None
        if name in _OTHERS or name.startswith("docs") or (name in _UNCONFIRMED if has_one else name.startswith(_OPEN)):
            return None
        # A fragment is no page to return to.
        whole = request.method in {"GET", "HEAD"} and "HX-Request" not in request.headers
        page = request.get_full_path() if whole else reverse("my_submissions")
        if has_one:
            # Signed in before the factor was added, or before it was required.
            return redirect(f"{reverse('mfa_reauthenticate')}?{urlencode({'next': page})}")
        request.session[NEXT] = page
        return redirect("mfa_index")

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Say on the account's page why recovery codes cannot be shown: another key sealed them."""
        match = request.resolver_match
        if match is None or match.url_name not in _SHOW_CODES or not isinstance(exception, ValidationError):
            return None
        messages.error(request, " ".join(exception.messages))
        return redirect("mfa_index")
