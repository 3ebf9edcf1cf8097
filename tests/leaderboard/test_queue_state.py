"""How many workers listen."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from rq import Worker
from rq.serializers import JSONSerializer
from rq.utils import utcformat

from evaluator.domain.queueing import connect, queue
from evaluator.management.commands.worker import MONITORING_SECONDS, WORKER_TTL_SECONDS
from leaderboard.domain.queue_state import LISTENING, queue_state

pytestmark = [pytest.mark.django_db, pytest.mark.redis]


def test_a_killed_worker_is_not_counted_for_long(redis_url: str) -> None:
    assert queue_state().registered == 0
    with connect() as connection:
        for name in ("alive", "killed"):
            worker = Worker(
                [queue(connection)],
                connection=connection,
                name=name,
                serializer=JSONSerializer,
                worker_ttl=WORKER_TTL_SECONDS,
            )
            worker.register_birth()  # type: ignore[no-untyped-call]
        assert queue_state().registered == 2
        long_ago = timezone.now() - LISTENING - timedelta(seconds=1)
        connection.hset(worker.key, "last_heartbeat", utcformat(long_ago))
        assert queue_state().registered == 1


def test_a_living_worker_is_heard_of_in_time(redis_url: str) -> None:
    with connect() as connection:
        worker = Worker([queue(connection)], connection=connection, name="alive", worker_ttl=WORKER_TTL_SECONDS)
    assert 2 * max(worker.dequeue_timeout, MONITORING_SECONDS) < LISTENING.total_seconds()
