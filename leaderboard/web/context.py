"""What every template may use."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings

from benchmark_tasks.models import Suite
from leaderboard.notices.reading import unread

if TYPE_CHECKING:
    from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, Any]:
    """The site's name, its suites for the navigation, what this instance can do, and how many notices wait."""
    return {
        "SITE_NAME": settings.SITE_NAME,
        "SUITES": Suite.objects.all(),
        "EMAIL_CONFIGURED": settings.EMAIL_CONFIGURED,
        "CONTACT": settings.ENVIRONMENT.contact,
        # Asked by the header alone, and only of somebody signed in.
        "unread_notices": partial(unread, request.user) if hasattr(request, "user") else None,
        "UNCONFINED": settings.ENVIRONMENT.sandbox_allow_no_cgroups,
    }
