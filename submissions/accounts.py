"""How accounts behave here, where allauth leaves a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings

if TYPE_CHECKING:
    from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):
    """Sign-up can be closed, and no letter is sent where no e-mail server is configured."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 - allauth's signature
        """Whether strangers may make accounts (``SIGN_UP_OPEN``)."""
        return bool(settings.ENVIRONMENT.sign_up_open)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a letter, where there is a server to send it; elsewhere no page promises one."""
        if settings.EMAIL_CONFIGURED:
            super().send_mail(template_prefix, email, context)
