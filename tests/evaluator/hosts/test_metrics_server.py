"""``METRICS_LISTEN``: one process of a host serves the metrics of all of them."""

from __future__ import annotations

import http.client
import socket
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from prometheus_client import exposition
from structlog.testing import capture_logs

from benchmark_tasks.domain import bucket, metrics
from evaluator.hosts import metrics_server
from tests.measures import values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_django import Settings


def free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.bind((host, 0))
        return int(trial.getsockname()[1])


@pytest.fixture
def listen(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """Listens with these settings, and stops after the test."""
    made = []

    class Server(exposition.ThreadingWSGIServer):
        def server_bind(self) -> None:
            super().server_bind()
            made.append(self)

    monkeypatch.setattr(exposition, "ThreadingWSGIServer", Server)

    def start(host: str = "127.0.0.1", port: int = 0, **values: str) -> int:
        port = port or free_port(host)
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, metrics_listen=address, **values)
        metrics_server.listen()
        return port

    yield start
    for each in made:
        each.shutdown()
        each.server_close()
    for thread in metrics_server._started:
        thread.join()
    metrics_server._started.clear()


def ask(port: int, path: str = "/metrics", host: str = "127.0.0.1", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(host, port, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_nothing_listens_by_default() -> None:
    before = threading.active_count()
    metrics_server.listen()
    assert (threading.active_count(), metrics_server._started) == (before, [])


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_it_serves_what_processes_counted(listen: Callable[..., int], host: str) -> None:
    port = listen(host)
    metrics.count(bucket._FAILED, "served")
    status, text = ask(port, host=host)
    assert (status, values_in(text)["storage_errors_total", "served"] >= 1) == (200, True)
    assert ask(port, "/", host=host)[0] == 404


def test_with_a_token_only_the_token_counts(listen: Callable[..., int]) -> None:
    port = listen(metrics_token="right")
    assert ask(port, Authorization="Bearer right")[0] == 200
    refused = (403, "Send METRICS_TOKEN as Authorization: Bearer TOKEN.\n")
    assert [ask(port), ask(port, Authorization="Bearer wrong"), ask(port, Authorization="right")] == [refused] * 3


def test_the_process_that_comes_second_serves_once_the_first_has_ended(listen: Callable[..., int]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, capture_logs() as logged:
        port = listen(port=first.getsockname()[1])
        assert (metrics_server._started, logged) == ([], [])
    metrics_server.listen()
    assert ask(port)[0] == 200
    metrics_server.listen()
    assert len(metrics_server._started) == 1


def test_an_address_of_another_machine_is_logged_and_stops_nothing(listen: Callable[..., int]) -> None:
    with capture_logs() as logged:
        listen("192.0.2.1", 9101, metrics_token="x")
    assert [(each["event"], each["METRICS_LISTEN"]) for each in logged] == [("metrics_not_served", "192.0.2.1:9101")]
