"""Configure allauth for this site: sign-up, login attempts, e-mails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings

from submissions.domain.rate_limits import client_network

if TYPE_CHECKING:
    from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):
    """Close sign-up, limit logins per account and network, and send e-mails where a server is configured."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 - allauth's signature
        """Return whether new visitors may create accounts (``SIGN_UP_OPEN``)."""
        return bool(settings.ENVIRONMENT.sign_up_open)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count wrong passwords for an account separately for each client network.

        Otherwise anyone who knows a user name could lock its owner out by sending wrong passwords.
        """
        return f"{super()._get_login_attempts_cache_key(request, **credentials)}:{client_network(request)}"

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send an e-mail if a mail server is configured; without one, no page promises an e-mail."""
        if settings.EMAIL_CONFIGURED:
            super().send_mail(template_prefix, email, context)
