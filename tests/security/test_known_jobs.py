"""Write access to Redis must not allow running code: jobs are JSON, and call registered functions only."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django_rq import get_worker

from evaluator.queue.pushing import opened

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.django_db

CALLED: list[object] = []


def called_back(*arguments: object) -> None:
    """The function that a forged callback names."""
    CALLED.append(arguments)


class Exploit:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (str(self.path),)


def work(redis_url: str) -> None:
    """One worker as ``manage.py worker`` makes it, until the queue is empty."""
    assert redis_url
    get_worker("default", worker_class="rq.SimpleWorker", serializer="json").work(burst=True)


@pytest.mark.parametrize(
    "name",
    [
        "os.mkdir",
        "evaluator.jobs.os.mkdir",
        "leaderboard.upkeep.jobs.compute_agreement",
        "evaluator.jobs._evaluate_next",
        "evaluator.jobs.log",
        "evaluator.jobs.",
        "",
    ],
)
def test_a_job_that_names_another_function_calls_nothing(name: str, redis_url: str, tmp_path: Path) -> None:
    trace = tmp_path / "called"
    with opened() as queue:
        queue.enqueue_call("evaluator.jobs.evaluate_next", job_id="forged")
        forged = json.dumps([name, None, [str(trace)], {}])
        queue.connection.hset("rq:job:forged", "data", forged)
        work(redis_url)
        assert not trace.exists()
        assert queue.connection.hget("rq:job:forged", "status") == b"failed"


@pytest.mark.parametrize("kind", ["success", "failure", "stopped"])
def test_a_forged_callback_is_not_called(kind: str, redis_url: str) -> None:
    with opened() as queue:
        queue.enqueue_call("evaluator.jobs.evaluate_next", job_id="forged")
        queue.connection.hset("rq:job:forged", f"{kind}_callback_name", "tests.security.test_known_jobs.called_back")
        work(redis_url)
    assert CALLED == []


def test_our_own_job_is_called(redis_url: str) -> None:
    with opened() as queue:
        job = queue.enqueue_call("evaluator.jobs.evaluate_next", result_ttl=60)
        work(redis_url)
        assert job.get_status() == "finished"


def test_a_pickled_job_is_not_unpickled(redis_url: str, tmp_path: Path) -> None:
    trace = tmp_path / "unpickled"
    with opened() as queue:
        queue.enqueue_call("evaluator.jobs.evaluate_next", job_id="forged")
        queue.connection.hset("rq:job:forged", "data", pickle.dumps(Exploit(trace)))
        work(redis_url)
        assert not trace.exists()
        assert queue.connection.hget("rq:job:forged", "status") == b"failed"
