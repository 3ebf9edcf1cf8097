"""Serve ``/metrics`` to Prometheus."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.http import HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmark_tasks.domain import metrics as recorded
from evaluator.hosts.metrics_server import has_token
from leaderboard.health.metrics import StateCollector
from leaderboard.supervision.programs import is_loopback

if TYPE_CHECKING:
    from django.http import HttpRequest

_FORWARDED: Final = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")
"""Proxies add at least one of these headers."""


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics of this host's processes and of the whole instance.

    With ``METRICS_TOKEN`` the token is needed; without it, the client must be on this machine. A refusal is a 403 that
    says what to do: that this software has the page is no secret.
    """
    token = settings.ENVIRONMENT.metrics_token
    if not (has_token(request.headers.get("Authorization", ""), token) if token else _is_local(request)):
        return HttpResponse(
            "Metrics are for programs on this machine without a proxy in between; or set METRICS_TOKEN, and send it as "
            "Authorization: Bearer TOKEN.\n",
            status=HTTPStatus.FORBIDDEN,
            content_type="text/plain; charset=utf-8",
        )
    return HttpResponse(recorded.exposition(StateCollector()), content_type=recorded.CONTENT_TYPE)


def _is_local(request: HttpRequest) -> bool:
    """Return whether the client is on this machine. Those of a proxy on it have its address, and a header of it."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return is_loopback(request.META["REMOTE_ADDR"])
    except ValueError:  # a Unix socket, which only a proxy uses
        return False
