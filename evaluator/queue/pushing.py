"""Plan what must be measured, and put jobs into the queues.

The queues are django-rq's (``RQ_QUEUES``). A job carries no work but means "take the next", which the database picks
fairly and under a lease: an RQ job could name a run, but not choose the submitter who has the fewest running, nor be
held after three infrastructure errors, nor be cancelled with its submission. So Redis may lose its jobs or deliver them
twice, and need not answer at all: the sweep (``manage.py reconcile``) puts back what is missing.
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
"""Workers look here only when no run waits: an audit takes minutes, and nobody waits for it."""
MODELS: Final = "models"
"""Workers of its own look here: waiting for a model must not keep a box idle."""
UPLOADS: Final = "uploads"

_TAKE_NEXT: Final = {
    RUNS: "evaluator.jobs.evaluate_next",
    MODELS: "evaluator.jobs.ask_or_judge_next",
    UPLOADS: "evaluator.jobs.check_next_upload",
}
FAILED_JOBS_SECONDS: Final = 3600
CHECK_TIMEOUT_SECONDS: Final = 900


def queues_of(*, models: bool = False, audits: bool = True) -> list[str]:
    """Where a worker looks for work, the first first.

    A check of an upload is short where nobody makes it long. So one worker is there for answers (it makes no
    ``audits``), and those that ask ``models`` do that first: a few accounts that send slow files one after the other
    delay checks alone.
    """
    if models:
        return [MODELS, UPLOADS]
    return [UPLOADS, RUNS, AUDITS] if audits else [RUNS, UPLOADS]


@contextmanager
def opened(name: str = RUNS) -> Iterator[Queue]:
    """One of the queues; its connection is closed afterwards."""
    queue = get_queue(name)
    try:
        yield queue
    finally:
        queue.connection.close()


def push(count: int, name: str = RUNS) -> int:
    """Add ``count`` jobs and return how many were added: none where Redis does not answer, which is no error."""
    try:
        with opened(name) as queue:
            _enqueue(queue, count)
    except RedisError as error:
        _unreachable(error, jobs=count)
        return 0
    return count


def top_up(waiting: int, name: str = RUNS) -> int:
    """Add as many jobs as the queue has fewer than ``waiting``, and return how many were added."""
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

    A server that was killed leaves its socket behind, which then refuses connections.
    """
    not_running = isinstance(error.__context__, FileNotFoundError | ConnectionRefusedError)
    if settings.ENVIRONMENT.redis_url or not not_running:
        log.info("queue_unreachable", error=str(error), jobs=jobs)


def _enqueue(queue: Queue, count: int) -> None:
    for _ in range(count):
        queue.enqueue_call(_TAKE_NEXT[queue.name], result_ttl=0, failure_ttl=FAILED_JOBS_SECONDS)


def push_once(name: str, function: str, *args: Any, job_id: str, **options: Any) -> bool | None:
    """Add one job unless it waits already (then False); None where Redis does not answer."""
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
    """Ask a model worker to try an endpoint; false where the queue cannot be reached."""
    added = push_once(
        MODELS,
        "evaluator.jobs.check_endpoint",
        endpoint_id,
        job_id=f"check-{endpoint_id}",
        timeout=CHECK_TIMEOUT_SECONDS,
        at_front=True,
    )
    return added is not None
