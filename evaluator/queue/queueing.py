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
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django_rq import get_queue
from redis.exceptions import RedisError
from rq.exceptions import DuplicateJobError

from evaluator.enums import GenerationState, RunState
from evaluator.models import TestRun
from evaluator.queue.finalising import finalise
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from evaluator.testing.types import Outcome
from submissions.enums import SubmissionState
from submissions.models import Implementation, Submission

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


def plan(submission_id: int) -> list[int]:
    """Make the test run of every implementation that has none, and queue those that need a box. Idempotent.

    What needs no box is decided here: ``not_attempted`` where there is no answer, ``bad_patch`` where it could not be
    applied. Returns the ids of the queued runs.
    """
    with transaction.atomic():
        # The sweep may come upon a submission in the moment in which it is planned for the first time.
        queued = Submission.objects.select_for_update(of=("self",)).filter(
            pk=submission_id, state=SubmissionState.QUEUED
        )
        # What is still being asked must not be counted as not attempted, whoever queued it.
        queued = queued.filter(Q(generation__isnull=True) | Q(generation__state=GenerationState.DONE))
        if queued.first() is None:
            return []
        unplanned = Implementation.objects.filter(submission_id=submission_id, test_runs__isnull=True)
        epoch = Submission.objects.values_list("suite_version__seed_epoch__number", flat=True).get(pk=submission_id)
        TestRun.objects.bulk_create(
            [_new_run(implementation, epoch) for implementation in unplanned.select_related("revision")]
        )
        waiting = TestRun.objects.filter(implementation__submission_id=submission_id, state=RunState.QUEUED)
        ids = list(waiting.values_list("pk", flat=True))
    push(len(ids))
    finalise(submission_id)
    return ids


def _new_run(implementation: Implementation, epoch: int) -> TestRun:
    run = TestRun(
        implementation=implementation,
        grading_hash=implementation.revision.grading_hash,
        seed_epoch=epoch,
        evaluator_version=EVALUATOR_VERSION,
    )
    if implementation.files is not None:
        return run
    run.state = RunState.DONE
    run.finished = timezone.now()
    run.seconds = 0.0
    run.outcome = (Outcome.BAD_PATCH if implementation.attempted else Outcome.NOT_ATTEMPTED).value
    run.reason = implementation.answer_error.get("message", "") if implementation.attempted else ""
    return run


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


def push_audit() -> int:
    """Ask for the audit of every revision that waits for one and has an environment; return how many were added.

    Each revision has a job of its own, so that the workers share them.
    """
    # Loads boxes and mutants, of which pages, that push runs, make no use.
    from evaluator.auditing.auditing import ready_for_audit

    added = 0
    for revision in ready_for_audit():
        pushed = push_once(AUDITS, "evaluator.jobs.audit_revision", revision.pk, job_id=f"audit-{revision.pk}")
        if pushed is None:
            break
        added += pushed
    return added
