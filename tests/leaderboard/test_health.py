"""What monitoring asks."""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection
from django.utils import timezone
from rq import Worker
from rq.serializers import JSONSerializer
from rq.utils import utcformat

from evaluator.enums import AttemptState, GenerationState, RunState, WorkState
from evaluator.management.commands.worker import MONITORING_SECONDS, WORKER_TTL_SECONDS
from evaluator.models import Attempt
from evaluator.queue.queueing import MODELS, RUNS, opened
from leaderboard.operation.queue_state import LISTENING, infra_summary, queue_state
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.asked import asked
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings
    from rq import Queue


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


# Two seconds a look at the server; the rest is for a busy machine. It was 30 seconds.
SOON_SECONDS = 15.0


@pytest.mark.django_db
def test_the_probe_does_not_wait_for_a_queue_that_never_answers(client: Client, settings: Settings) -> None:
    # Connections are taken, by the system, and nobody reads them.
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url=f"redis://127.0.0.1:{port}/0").rq_queues
        begun = time.monotonic()
        response = client.get("/readyz")
        assert (response.status_code, response.json()["queue"]) == (503, "unreachable")
        assert time.monotonic() - begun < SOON_SECONDS
        mute.accept()[0].close()
        mute.setblocking(False)
        with pytest.raises(BlockingIOError):  # it was asked once
            mute.accept()


def worker(listens: Queue, name: str) -> Worker:
    made = Worker(
        [listens], connection=listens.connection, name=name, serializer=JSONSerializer, worker_ttl=WORKER_TTL_SECONDS
    )
    made.register_birth()  # type: ignore[no-untyped-call]
    return made


@pytest.mark.django_db
@pytest.mark.redis
def test_a_killed_worker_is_not_counted_for_long(redis_url: str) -> None:
    assert queue_state().registered == 0
    with opened() as queue:
        worker(queue, "alive")
        killed = worker(queue, "killed")
        assert queue_state().registered == 2
        long_ago = timezone.now() - LISTENING - timedelta(seconds=1)
        queue.connection.hset(killed.key, "last_heartbeat", utcformat(long_ago))
        assert queue_state().registered == 1


@pytest.mark.django_db
@pytest.mark.redis
def test_workers_that_ask_models_are_counted_apart(redis_url: str) -> None:
    with opened(RUNS) as runs, opened(MODELS) as models:
        worker(runs, "evaluates")
        assert (queue_state().registered, queue_state().asking) == (1, 0)
        worker(models, "asks")
        assert (queue_state().registered, queue_state().asking) == (1, 1)


@pytest.mark.django_db
@pytest.mark.redis
def test_questions_of_runs_that_stand_still_do_not_wait(redis_url: str) -> None:
    asked(UserFactory(), WorkState.QUEUED, WorkState.RUNNING, WorkState.DONE)
    asked(UserFactory(), WorkState.QUEUED, state=GenerationState.PAUSED)
    assert (queue_state().questions, queue_state().questions_running) == (1, 1)


@pytest.mark.django_db
@pytest.mark.redis
def test_a_living_worker_is_heard_of_in_time(redis_url: str) -> None:
    with opened() as queue:
        waits = worker(queue, "alive").dequeue_timeout
    assert 2 * max(waits, MONITORING_SECONDS) < LISTENING.total_seconds()


@pytest.mark.django_db
def test_the_public_summary_counts_runs_by_cause_and_tells_no_more_than_the_cause() -> None:
    full, gone = "waiting for the sandbox: the host's disk is full", "the host failed"
    runs = [TestRunFactory(reason=full), TestRunFactory(reason=full), TestRunFactory(state=RunState.HELD, reason=gone)]
    TestRunFactory()
    TestRunFactory(done="raised", reason="ValueError")
    TestRunFactory(state=RunState.CANCELLED, reason="the host failed")
    now = timezone.now()
    for run in runs:
        for number in (1, 2):
            Attempt.objects.create(
                run=run, number=number, token=uuid4(), worker="w", state=AttemptState.INFRA, reason="/srv/x", ended=now
            )
    assert infra_summary() == [{"cause": full, "runs": 2, "newest": now}, {"cause": gone, "runs": 1, "newest": now}]
