"""Report this instance's health, its evaluation environments, and its contact for security reports."""

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

from benchmark_tasks.domain.bucket import StorageUnavailableError, bucket
from evaluator.queue.pushing import opened
from leaderboard.health.status import as_data
from leaderboard.health.status import status as current_status

logger = structlog.get_logger(__name__)

SECONDS = 10
SECURITY_TXT_VALID = timedelta(days=180)


@cache_control(private=True, max_age=SECONDS)
@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """Show the status page; maintainers also see reasons and images."""
    return render(request, "leaderboard/status.html", {"status": current_status()})


@cache_control(public=True, max_age=SECONDS)
@require_safe
def status_json(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """Return the public status as JSON, the same for all visitors; 503 while the database does not answer."""
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
    """Answer that the process is up, without checking database or queue."""
    return JsonResponse({"process": "up"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """Answer 200 if database and queue are reachable, else 503; name what is not.

    Most pages need no file, so a bucket that does not answer takes no host out of service.
    """
    answers = {"database": _database_answers(), "queue": _queue_answers(), "storage": _storage_answers()}
    parts = {name: "reachable" if each else "unreachable" for name, each in answers.items()}
    ready = answers["database"] and answers["queue"]
    return JsonResponse(parts, status=HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE)


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Return the contact for vulnerability reports (RFC 9116); 404 if the operator has configured none."""
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


def _storage_answers() -> bool:
    """Return whether the bucket answers; true without one."""
    shared = bucket()
    try:
        if shared is not None:
            # A listing, since a look-up does not notice a missing bucket.
            next(shared.listed("readyz"), None)
    except StorageUnavailableError as error:
        logger.warning("storage unreachable", error=str(error))
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
