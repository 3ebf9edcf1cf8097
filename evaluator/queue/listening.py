"""Count the workers that listen now."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Final

from django.utils import timezone
from redis.exceptions import RedisError
from rq import Worker
from rq.serializers import JSONSerializer

from evaluator.queue.pushing import opened

# Workers send a heartbeat every 15 seconds (manage.py worker); one that missed two of them was killed.
LISTENING: Final = timedelta(seconds=40)


def listening(machine: str = "") -> Counter[str] | None:
    """Count the running workers of each queue, or those on one machine; None if the queue's server does not answer."""
    try:
        with opened() as queue:
            workers = Worker.all(connection=queue.connection, serializer=JSONSerializer)
            alive = timezone.now() - LISTENING
            running = [worker for worker in workers if worker.last_heartbeat and worker.last_heartbeat >= alive]
            counted = [worker for worker in running if not machine or worker.hostname == machine]
            return Counter(name for worker in counted for name in worker.queue_names())
    except RedisError:
        return None
