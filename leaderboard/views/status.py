"""The status page: whether this instance evaluates, with what, and how well that is known to work."""

from __future__ import annotations

from http import HTTPStatus

import structlog
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from leaderboard.operation.status import as_data
from leaderboard.operation.status import status as current_status

logger = structlog.get_logger(__name__)

SECONDS = 10


@cache_control(private=True, max_age=SECONDS)
@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """For everybody; maintainers see reasons and images as well."""
    return render(request, "leaderboard/status.html", {"status": current_status()})


@cache_control(public=True, max_age=SECONDS)
@require_safe
def status_json(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """The public part as JSON, the same for everybody; 503 while the database does not answer."""
    try:
        data = as_data(current_status())
    except DatabaseError as error:
        logger.warning("database unreachable", error=str(error))
        broken = {"ok": False, "troubles": ["The database does not answer."]}
        return JsonResponse(broken, status=HTTPStatus.SERVICE_UNAVAILABLE)
    return JsonResponse(data)
