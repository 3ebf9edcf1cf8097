"""Serve the metrics of this host's processes at ``METRICS_LISTEN``, on hosts without a web server."""

from __future__ import annotations

import errno
import socket
import threading
from http import HTTPStatus
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, make_server

import structlog
from django.conf import settings
from django.utils.crypto import constant_time_compare
from prometheus_client import exposition

from benchmark_tasks.domain import metrics

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

log = structlog.get_logger(__name__)
_started: list[threading.Thread] = []


def listen() -> None:
    """Start to serve in a thread if ``METRICS_LISTEN`` is set and no other process of this host serves there already.

    All processes of a host share their counts, so one is enough. The reconciler calls this at each sweep, and so takes
    over from a process that has ended. No work waits for metrics: if the address cannot be used, that is only logged.
    """
    address = settings.ENVIRONMENT.metrics_address
    if address is None or any(thread.is_alive() for thread in _started):
        return
    host, port = address
    try:
        server = make_server(host, port, _answer, _server_class(host), handler_class=_Quiet)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            log.warning("metrics_not_served", METRICS_LISTEN=settings.ENVIRONMENT.metrics_listen, error=str(error))
        return
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    _started[:] = [thread]


def has_token(header: str, token: str) -> bool:
    """Return whether the header ``Authorization`` carries the token."""
    kind, _, sent = header.partition(" ")
    return kind.lower() == "bearer" and constant_time_compare(sent.strip(), token)


def _answer(request: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    token = settings.ENVIRONMENT.metrics_token
    if request["PATH_INFO"] != "/metrics":
        status, body = HTTPStatus.NOT_FOUND, b"Only /metrics is here.\n"
    elif token and not has_token(request.get("HTTP_AUTHORIZATION", ""), token):
        status, body = HTTPStatus.FORBIDDEN, b"Send METRICS_TOKEN as Authorization: Bearer TOKEN.\n"
    else:
        status, body = HTTPStatus.OK, metrics.exposition()
    start(f"{status.value} {status.phrase}", [("Content-Type", metrics.CONTENT_TYPE)])
    return [body]


def _server_class(host: str) -> type[exposition.ThreadingWSGIServer]:
    class Server(exposition.ThreadingWSGIServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    return Server


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Log nothing: Prometheus asks every few seconds."""
