"""Password reset, where it depends on whether this instance can send letters. The rest of /accounts/ is allauth's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allauth.account.views import password_reset as password_reset_by_letter
from django.conf import settings
from django.shortcuts import render

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase


def password_reset(request: HttpRequest) -> HttpResponseBase:
    """Send a reset letter; without an e-mail server say whom to ask instead, and send nothing."""
    if settings.EMAIL_CONFIGURED:
        response: HttpResponseBase = password_reset_by_letter(request)
        return response
    return render(request, "account/password_reset_by_operator.html")
