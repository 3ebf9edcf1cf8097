"""Give requests ids, and count and time them by the name of their view.

Not by their path: visitors can make up any number of paths.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import structlog
from django.dispatch import receiver
from django_structlog.signals import bind_extra_request_metadata

from benchmark_tasks.domain import metrics
from leaderboard.settings.logs import REQUEST_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUESTS: Final = metrics.counter("requests", "Requests that were answered.", "view", "method", "status")
_SECONDS: Final = metrics.histogram(
    "request_seconds",
    "Seconds until a response began.",
    "view",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
)


@receiver(bind_extra_request_metadata)
def _keep_id(request: HttpRequest, **_: Any) -> None:
    """Keep the id that django-structlog has just bound to the log, for after it has unbound it."""
    request.META[REQUEST_ID] = structlog.contextvars.get_contextvars()["request_id"]


class MeasuringMiddleware:
    """Count each request, and time it until its response begins. First in the list, to measure the others too.

    The response has the id of the request's log lines, ``X-Request-ID``.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle the request. Files and unknown addresses have no view: ``none``."""
        started = time.perf_counter()
        response = self._get_response(request)
        view = request.resolver_match.view_name if request.resolver_match else ""
        method = request.method if request.method in _METHODS else "other"
        metrics.observe(_SECONDS, time.perf_counter() - started, view or "none")
        metrics.count(_REQUESTS, view or "none", str(method), str(response.status_code))
        if request_id := request.META.get(REQUEST_ID):
            response.headers["X-Request-ID"] = request_id
        return response
