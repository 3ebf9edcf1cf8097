"""Whether this instance is up, evaluates, and with what; and whom to tell when it can be broken."""

from __future__ import annotations

from datetime import UTC, timedelta
from http import HTTPStatus

import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_safe
from redis import RedisError

from evaluator.queue.pushing import opened
from leaderboard.health.status import as_data
from leaderboard.health.status import status as current_status

logger = structlog.get_logger(__name__)

SECONDS = 10
SECURITY_TXT_VALID = timedelta(days=180)


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


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """Answer that the process is up; asks nothing of database or queue."""
    return JsonResponse({"process": "up"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """200 when database and queue answer, else 503 that names which does not."""
    parts = {
        "database": "reachable" if _database_answers() else "unreachable",
        "queue": "reachable" if _queue_answers() else "unreachable",
    }
    ready = set(parts.values()) == {"reachable"}
    return JsonResponse(parts, status=HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE)


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Where to report a hole in this instance (RFC 9116); 404 where its operator has named no place."""
    contact = settings.ENVIRONMENT.security_contact
    if not contact:
        raise Http404("This instance names no contact for security reports.")
    expires = (timezone.now() + SECURITY_TXT_VALID).astimezone(UTC).strftime("%Y-%m-%dT00:00:00Z")
    policy = request.build_absolute_uri(reverse("docs_page", args=["security"]))
    text = f"Contact: {contact}\nExpires: {expires}\nPolicy: {policy}\nPreferred-Languages: en\n"
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        logger.warning("database unreachable", error=str(error))
        return False
    return True


def _queue_answers() -> bool:
    try:
        with opened() as queue:
            queue.connection.ping()
    except (RedisError, OSError) as error:
        logger.warning("queue unreachable", error=str(error))
        return False
    return True
