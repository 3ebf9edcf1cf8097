"""Quick runs share a job: how many a job takes, and when it begins no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django_rq import get_worker

from evaluator import jobs
from evaluator.enums import RunState
from evaluator.models import Attempt, TestRun
from evaluator.queue import rq_classes
from evaluator.queue.pushing import RUNS as RUNS_QUEUE
from evaluator.testing.planning import plan
from tests.evaluator.factories import QueuedSubmissionFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox

pytestmark = [pytest.mark.django_db, pytest.mark.redis, pytest.mark.bubblewrap]
RUNS = 4


@pytest.fixture
def queued(small_version: SuiteVersion, real_sandbox: Sandbox, redis_url: str) -> Iterator[None]:
    """Four quick runs, and a worker that goes on afterwards."""
    for _ in range(2):
        plan(QueuedSubmissionFactory(suite_version=small_version).pk)
    assert TestRun.objects.filter(state=RunState.QUEUED).count() == RUNS
    yield
    rq_classes._STOPS[0] = 0


def evaluated() -> int:
    jobs.evaluate_next()
    return TestRun.objects.filter(state=RunState.DONE).count()


@pytest.mark.usefixtures("queued")
def test_a_job_takes_quick_runs_until_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "QUICK_SECONDS", 0.0)
    assert evaluated() == 1
    monkeypatch.setattr(jobs, "QUICK_SECONDS", 600.0)
    assert evaluated() == RUNS
    assert evaluated() == Attempt.objects.count() == RUNS


@pytest.mark.usefixtures("queued")
def test_a_job_begins_no_other_run_once_its_worker_must_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "QUICK_SECONDS", 600.0)
    worker: Any = get_worker(RUNS_QUEUE)
    assert not rq_classes.worker_stops()
    worker.handle_warm_shutdown_request()
    assert evaluated() == 1
