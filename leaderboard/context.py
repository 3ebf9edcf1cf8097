"""What every template may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings

from benchmark_tasks.models import Suite

if TYPE_CHECKING:
    from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, Any]:  # noqa: ARG001 - Django's signature
    """The site's name, its suites for the navigation, and what this instance can do."""
    return {
        "SITE_NAME": settings.SITE_NAME,
        "SUITES": Suite.objects.all(),
        "EMAIL_CONFIGURED": settings.EMAIL_CONFIGURED,
        "CONTACT": settings.ENVIRONMENT.contact,
        "UNCONFINED": settings.ENVIRONMENT.sandbox_allow_no_cgroups,
    }
