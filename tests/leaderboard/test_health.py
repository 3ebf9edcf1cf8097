"""What monitoring asks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.db import DatabaseError, connection

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings


def no_database(*_arguments: object) -> None:
    raise DatabaseError("gone")


def test_healthz_asks_nobody(client: Client) -> None:
    # Without the db fixture, any query would fail the test.
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"process": "up"})
    assert "no-store" in response["Cache-Control"]


@pytest.mark.django_db
@pytest.mark.redis
def test_ready_when_database_and_queue_answer(client: Client, redis_url: str) -> None:
    response = client.get("/readyz")
    assert (response.status_code, response.json()) == (200, {"database": "reachable", "queue": "reachable"})


@pytest.mark.django_db
def test_not_ready_without_queue(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url=f"unix://{tmp_path}/none.sock").rq_queues
    response = client.get("/readyz")
    assert (response.status_code, response.json()) == (503, {"database": "reachable", "queue": "unreachable"})


@pytest.mark.django_db
@pytest.mark.redis
def test_not_ready_without_database(client: Client, redis_url: str) -> None:
    with connection.execute_wrapper(no_database):
        response = client.get("/readyz")
    assert (response.status_code, response.json()) == (503, {"database": "unreachable", "queue": "reachable"})


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_only_reads(client: Client, address: str) -> None:
    assert client.post(address).status_code == 405
