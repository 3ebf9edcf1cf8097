"""How many workers listen, and what runs wait for."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
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
    from rq import Queue

pytestmark = [pytest.mark.django_db, pytest.mark.redis]


def worker(listens: Queue, name: str) -> Worker:
    made = Worker(
        [listens], connection=listens.connection, name=name, serializer=JSONSerializer, worker_ttl=WORKER_TTL_SECONDS
    )
    made.register_birth()  # type: ignore[no-untyped-call]
    return made


def test_a_killed_worker_is_not_counted_for_long(redis_url: str) -> None:
    assert queue_state().registered == 0
    with opened() as queue:
        worker(queue, "alive")
        killed = worker(queue, "killed")
        assert queue_state().registered == 2
        long_ago = timezone.now() - LISTENING - timedelta(seconds=1)
        queue.connection.hset(killed.key, "last_heartbeat", utcformat(long_ago))
        assert queue_state().registered == 1


def test_workers_that_ask_models_are_counted_apart(redis_url: str) -> None:
    with opened(RUNS) as runs, opened(MODELS) as models:
        worker(runs, "evaluates")
        assert (queue_state().registered, queue_state().asking) == (1, 0)
        worker(models, "asks")
        assert (queue_state().registered, queue_state().asking) == (1, 1)


def test_questions_of_runs_that_stand_still_do_not_wait(redis_url: str) -> None:
    asked(UserFactory(), WorkState.QUEUED, WorkState.RUNNING, WorkState.DONE)
    asked(UserFactory(), WorkState.QUEUED, state=GenerationState.PAUSED)
    assert (queue_state().questions, queue_state().questions_running) == (1, 1)


def test_a_living_worker_is_heard_of_in_time(redis_url: str) -> None:
    with opened() as queue:
        waits = worker(queue, "alive").dequeue_timeout
    assert 2 * max(waits, MONITORING_SECONDS) < LISTENING.total_seconds()


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
    assert infra_summary() == [
        {"cause": full, "runs": 2, "newest": now},
        {"cause": gone, "runs": 1, "newest": now},
    ]
