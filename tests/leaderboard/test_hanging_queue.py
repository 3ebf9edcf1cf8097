"""A queue's server that takes connections and never answers: pages and probes say so soon."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.test import Client
    from pytest_django import Settings

pytestmark = pytest.mark.django_db

# Two seconds a look at the server; the rest is for a busy machine. It was 30 seconds.
SOON_SECONDS = 15.0


@pytest.fixture(autouse=True)
def taken(settings: Settings) -> Iterator[list[socket.socket]]:
    """The connections that the mute server has taken."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        ended = threading.Event()

        def take() -> None:
            while not ended.is_set():
                try:
                    taken.append(server.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=take)
        thread.start()
        port = server.getsockname()[1]
        settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url=f"redis://127.0.0.1:{port}/0").rq_queues
        yield taken
        ended.set()
        thread.join()
    for connection in taken:
        connection.close()


def test_the_status_page_does_not_wait_for_it(client: Client, taken: list[socket.socket]) -> None:
    begun = time.monotonic()
    found = client.get("/status.json").json()
    assert (found["queue"]["reachable"], found["ok"]) == (False, False)
    assert time.monotonic() - begun < SOON_SECONDS
    assert len(taken) == 1


def test_the_probe_does_not_wait_for_it(client: Client, taken: list[socket.socket]) -> None:
    begun = time.monotonic()
    response = client.get("/readyz")
    assert (response.status_code, response.json()["queue"]) == (503, "unreachable")
    assert time.monotonic() - begun < SOON_SECONDS
    assert len(taken) == 1
