"""Plan test runs, and put jobs into the queues.

The queues are django-rq's (``RQ_QUEUES``). A job names no work but means "take the next", which the database picks
fairly and under a lease. An RQ job could name a run, but it could not choose the submitter with the fewest running
ones, be held after three infrastructure errors, or be cancelled with its submission. Redis may therefore lose jobs,
deliver them twice or not answer at all: the sweep (``manage.py reconcile``) adds what is missing.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import structlog
from django.conf import settings
from django_rq import get_queue
from redis.exceptions import RedisError
from rq.exceptions import DuplicateJobError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rq import Queue

log = structlog.get_logger(__name__)

RUNS: Final = "default"
AUDITS: Final = "audits"
"""Workers look here only when no run waits: an audit takes minutes and is not urgent."""
MODELS: Final = "models"
"""Served by separate workers: waiting for a model must not keep a box idle."""
SITE: Final = "site"
"""Checks of uploads, and what needs the rights of the site: finalising, ranks, e-mails."""

_TAKE_NEXT: Final = {
    RUNS: "evaluator.jobs.evaluate_next",
    MODELS: "evaluator.jobs.ask_or_judge_next",
    SITE: "evaluator.jobs.check_next_upload",
}
FAILED_JOBS_SECONDS: Final = 3600
CHECK_TIMEOUT_SECONDS: Final = 900


POOL_OF: Final = {RUNS: "tests", AUDITS: "builds", MODELS: "model_calls", SITE: "site"}


def queues_of(*, models: bool = False, audits: bool = True) -> list[str]:
    """Return the queues of a worker on a host with the pools of ``POOLS``, in order of priority.

    Checking an upload is normally short, but a slow file can make it long. One worker (without ``audits``) therefore
    puts runs first, and workers that ask ``models`` do that first: accounts that send slow files one after the other
    only delay checks.
    """
    ordered = [MODELS, SITE] if models else [SITE, RUNS, AUDITS] if audits else [RUNS, SITE]
    return [queue for queue in ordered if POOL_OF[queue] in settings.ENVIRONMENT.pools]


@contextmanager
def opened(name: str = RUNS) -> Iterator[Queue]:
    """Open one of the queues; close its connection afterwards."""
    queue = get_queue(name)
    try:
        yield queue
    finally:
        queue.connection.close()


def push(count: int, name: str = RUNS) -> int:
    """Add ``count`` jobs and return how many were added: 0 if Redis does not answer, which is not an error."""
    try:
        with opened(name) as queue:
            _enqueue(queue, count)
    except RedisError as error:
        _unreachable(error, jobs=count)
        return 0
    return count


def top_up(waiting: int, name: str = RUNS) -> int:
    """Add jobs until the queue has ``waiting`` of them, and return how many were added."""
    try:
        with opened(name) as queue:
            missing = max(0, waiting - len(queue))
            _enqueue(queue, missing)
    except RedisError as error:
        _unreachable(error, jobs=waiting)
        return 0
    return missing


def _unreachable(error: RedisError, *, jobs: int) -> None:
    """Log that the queue does not answer, unless it is the instance's own and the instance is not running.

    A killed server leaves its socket behind, which then refuses connections.
    """
    not_running = isinstance(error.__context__, FileNotFoundError | ConnectionRefusedError)
    if settings.ENVIRONMENT.redis_url or not not_running:
        log.info("queue_unreachable", error=str(error), jobs=jobs)


def _enqueue(queue: Queue, count: int) -> None:
    for _ in range(count):
        queue.enqueue_call(_TAKE_NEXT[queue.name], result_ttl=0, failure_ttl=FAILED_JOBS_SECONDS)


def push_once(name: str, function: str, *args: Any, job_id: str, **options: Any) -> bool | None:
    """Add one job unless it is queued already (then return False); return None if Redis does not answer."""
    try:
        with opened(name) as queue:
            queue.enqueue_call(function, args=args, job_id=job_id, unique=True, result_ttl=0, failure_ttl=1, **options)
    except DuplicateJobError:
        return False
    except RedisError as error:
        _unreachable(error, jobs=1)
        return None
    return True


def push_check(endpoint_id: int) -> bool:
    """Have a model worker test an endpoint; return False if the queue cannot be reached."""
    added = push_once(
        MODELS,
        "evaluator.jobs.check_endpoint",
        endpoint_id,
        job_id=f"check-{endpoint_id}",
        timeout=CHECK_TIMEOUT_SECONDS,
        at_front=True,
    )
    return added is not None
