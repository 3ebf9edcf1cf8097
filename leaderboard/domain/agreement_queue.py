"""Having agreement computed by a worker, so that nobody waits for a page."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import structlog
from django.core.cache import cache
from django.utils import timezone
from redis.exceptions import RedisError
from rq import Worker
from rq.exceptions import DuplicateJobError

from benchmark_tasks.models import Suite
from evaluator.domain.queueing import connect_briefly, queue
from leaderboard.domain.agreement import UnknownChoiceError
from leaderboard.domain.agreement_cache import answered
from leaderboard.domain.agreement_report import Asked, read_report
from leaderboard.domain.queue_state import LISTENING

if TYPE_CHECKING:
    from typing import Any

    from rq import Queue

    from leaderboard.domain.agreement_cache import Known
    from leaderboard.domain.agreement_report import Report

log = structlog.get_logger(__name__)

JOB: Final = "leaderboard.jobs.compute_agreement"
JOB_TIMEOUT_SECONDS: Final = 600
PATIENCE_SECONDS: Final = 20
"""So long a worker may take before a page computes for itself: all of them may be busy with long runs."""


def known_or_queued(*, suite: Suite, asked: Asked, report: Report, found: list[Known | None]) -> bool:
    """Whether a page may show what was ``found``: all of it is current, or a worker was asked and takes it soon."""
    missing = [
        each.data for each, known in zip(report.questions, found, strict=True) if known is None or not known.current
    ]
    if not missing:
        return True
    name = hashlib.sha256(" ".join(missing).encode()).hexdigest()
    asked_at = cache.get_or_set(f"agreement-asked:{name}", timezone.now, PATIENCE_SECONDS * 10)
    if asked_at is None or (timezone.now() - asked_at).total_seconds() > PATIENCE_SECONDS:
        return False
    return push(suite=suite, asked=asked, name=name)


def push(*, suite: Suite, asked: Asked, name: str) -> bool:
    """Ask a worker to compute, unless that was asked; false where no worker listens, or the queue is away.

    A job that is lost costs nothing: the next view of the page asks again.
    """
    try:
        with connect_briefly() as connection:
            target = queue(connection)
            if not _is_heard(target):
                return False
            with suppress(DuplicateJobError):
                target.enqueue_call(
                    JOB,
                    args=(suite.slug, asdict(asked)),
                    job_id=f"agreement-{name}",
                    unique=True,
                    timeout=JOB_TIMEOUT_SECONDS,
                    result_ttl=0,
                    failure_ttl=1,
                    at_front=True,
                )
    except RedisError as error:
        log.info("queue_unreachable", error=str(error), jobs=1)
        return False
    return True


def _is_heard(target: Queue) -> bool:
    alive = timezone.now() - LISTENING
    return any(
        worker.last_heartbeat is not None and worker.last_heartbeat >= alive for worker in Worker.all(queue=target)
    )


def compute(suite: str, asked: dict[str, Any]) -> int:
    """Compute all that is asked about a suite and keep it; say how many questions there were.

    What is not there (any more) is only logged. Raises TypeError for an unknown field.
    """
    try:
        report = read_report(suite=Suite.objects.get(slug=suite), asked=Asked(**asked))
    except (UnknownChoiceError, Suite.DoesNotExist) as error:
        log.info("agreement_not_computed", reason=str(error))
        return 0
    return len(answered(report.questions))
