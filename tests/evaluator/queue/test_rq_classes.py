"""Workers that Redis forgets, since it was away or lost its data, are known again."""

from __future__ import annotations

import pytest
from django_rq import get_worker

from evaluator.queue.listening import listening
from evaluator.queue.pushing import MODELS, opened

pytestmark = [pytest.mark.django_db, pytest.mark.redis]


def test_a_heartbeat_registers_a_worker_that_redis_has_lost(redis_url: str) -> None:
    worker = get_worker(MODELS, name="lost", serializer="json", worker_ttl=30)
    worker.register_birth()  # type: ignore[no-untyped-call]
    assert listening() == {MODELS: 1}
    with opened() as queue:
        queue.connection.flushdb()
    assert listening() == {}
    worker.heartbeat()
    assert listening() == {MODELS: 1}
    with opened() as queue:
        assert 0 < queue.connection.ttl(worker.key) <= 90
    worker.heartbeat()
    assert listening() == {MODELS: 1}
    worker.register_death()  # type: ignore[no-untyped-call]
