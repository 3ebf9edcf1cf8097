"""Add the site's context variables to every template."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings

from benchmark_tasks.models import Suite
from leaderboard.notices.reading import unread

if TYPE_CHECKING:
    from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, Any]:
    """Return the site's name and version, the suites for the navigation, its features, and the unread notices."""
    return {
        "SITE_NAME": settings.SITE_NAME,
        "SUITES": Suite.objects.all(),
        "EMAIL_CONFIGURED": settings.EMAIL_CONFIGURED,
        "SIGN_IN_PROVIDERS": settings.SOCIALACCOUNT_PROVIDERS,
        "CONTACT": settings.ENVIRONMENT.contact,
        "SOURCE_CODE": settings.ENVIRONMENT.source_code,
        "DATA_LICENCE": settings.ENVIRONMENT.data_licence,
        "VERSION": settings.VERSION,
        # Lazy: only the header of signed-in users' pages calls it.
        "unread_notices": partial(unread, request.user) if hasattr(request, "user") else None,
        "UNCONFINED": settings.ENVIRONMENT.sandbox_allow_no_cgroups,
    }
