"""What this site decides for allauth: open sign-up, login attempts, letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings

from submissions.domain.rate_limits import client_network

if TYPE_CHECKING:
    from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):
    """Sign-up can be closed, no letter is sent without an e-mail server, and nobody locks another one's account."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 - allauth's signature
        """Whether strangers may make accounts (``SIGN_UP_OPEN``)."""
        return bool(settings.ENVIRONMENT.sign_up_open)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count wrong passwords for an account from each network address apart.

        Whoever knows a name could otherwise keep its owner out with wrong passwords.
        """
        return f"{super()._get_login_attempts_cache_key(request, **credentials)}:{client_network(request)}"

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a letter, where there is a server to send it; elsewhere no page promises one."""
        if settings.EMAIL_CONFIGURED:
            super().send_mail(template_prefix, email, context)
