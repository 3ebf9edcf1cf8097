"""Planning what must be measured, and telling the queue. It may lose what it is told: the rows are the truth."""

from __future__ import annotations

from contextlib import suppress

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from redis import Redis
from redis.exceptions import RedisError
from rq import Queue
from rq.exceptions import DuplicateJobError
from rq.serializers import JSONSerializer

from evaluator.enums import GenerationState, RunState
from evaluator.models import TestRun
from evaluator.queue.finalising import settle
from evaluator.queue.known_jobs import KnownJob
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from evaluator.testing.types import Outcome
from submissions.enums import SubmissionState
from submissions.models import Implementation, Submission

log = structlog.get_logger(__name__)
QUEUE_NAME = "default"
AUDIT_QUEUE_NAME = "audits"
JOB = "evaluator.jobs.evaluate_next"
AUDIT_JOB = "evaluator.jobs.audit_revision"
MODEL_QUEUE_NAME = "models"
MODEL_JOB = "evaluator.jobs.ask_or_judge_next"
UPLOAD_QUEUE_NAME = "uploads"
UPLOAD_JOB = "evaluator.jobs.check_next_upload"
CHECK_JOB = "evaluator.jobs.check_endpoint"
UNLIMITED = -1
"""No time-out of the queue's own, which cannot know what a job will claim: every box and every request to a model has
a limit, a run has one for all of its boxes, and a lease ends when its worker does.
"""
FAILED_JOBS_SECONDS = 3600
CHECK_TIMEOUT_SECONDS = 900
BRIEFLY_SECONDS = 2.0


def connect() -> Redis:
    """A connection to the queue's server."""
    return Redis.from_url(settings.ENVIRONMENT.queue_url, socket_timeout=30, socket_connect_timeout=5)


def connect_briefly(seconds: float = BRIEFLY_SECONDS) -> Redis:
    """A connection for somebody who waits for a page: a server that hangs is given up after ``seconds``."""
    return Redis.from_url(settings.ENVIRONMENT.queue_url, socket_timeout=seconds, socket_connect_timeout=seconds)


def queue(connection: Redis) -> Queue:
    """The runs' queue. Jobs are JSON and name our own functions: who can write to Redis must not thereby run code."""
    return Queue(QUEUE_NAME, connection=connection, serializer=JSONSerializer, job_class=KnownJob)


def audit_queue(connection: Redis) -> Queue:
    """The audits' queue. Workers look here only when no run waits: an audit takes minutes, and nobody looks at it."""
    return Queue(AUDIT_QUEUE_NAME, connection=connection, serializer=JSONSerializer, job_class=KnownJob)


def model_queue(connection: Redis) -> Queue:
    """The queue of those who wait for models. Workers of its own look here: waiting must not keep a box idle."""
    return Queue(MODEL_QUEUE_NAME, connection=connection, serializer=JSONSerializer, job_class=KnownJob)


def upload_queue(connection: Redis) -> Queue:
    """The queue of files to check. All workers look here, and one of several only when no run waits."""
    return Queue(UPLOAD_QUEUE_NAME, connection=connection, serializer=JSONSerializer, job_class=KnownJob)


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
    settle(submission_id)
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


def push(count: int) -> int:
    """Add ``count`` jobs to the queue and say how many were added.

    A job carries nothing: it means "claim the next run", and the database picks it. So a job that is lost, or delivered
    twice, or that comes too late costs nothing but a look. A queue that cannot be reached is not an error either: the
    sweep (``manage.py reconcile``) pushes again. Somebody may wait for the page that pushes, so a server that hangs is
    not waited for.
    """
    try:
        with connect_briefly() as connection:
            _enqueue(queue(connection), count)
    except RedisError as error:
        log.info("queue_unreachable", error=str(error), jobs=count)
        return 0
    return count


def push_models(count: int) -> int:
    """Add ``count`` jobs for model workers, as :func:`push` does for the others, and say how many were added."""
    try:
        with connect_briefly() as connection:
            _enqueue(model_queue(connection), count, MODEL_JOB)
    except RedisError as error:
        log.info("queue_unreachable", error=str(error), jobs=count)
        return 0
    return count


def push_uploads(waiting: int) -> int:
    """Add as many jobs as fewer than ``waiting`` files have one, and return how many were added."""
    try:
        with connect_briefly() as connection:
            target = upload_queue(connection)
            missing = max(0, waiting - len(target))
            _enqueue(target, missing, UPLOAD_JOB)
    except RedisError as error:
        log.info("queue_unreachable", error=str(error), jobs=waiting)
        return 0
    return missing


def push_check(endpoint_id: int) -> bool:
    """Ask a model worker to try an endpoint, unless that was asked; false where the queue cannot be reached."""
    try:
        with connect_briefly() as connection, suppress(DuplicateJobError):
            model_queue(connection).enqueue_call(
                CHECK_JOB,
                args=(endpoint_id,),
                job_id=f"check-{endpoint_id}",
                unique=True,
                timeout=CHECK_TIMEOUT_SECONDS,
                result_ttl=0,
                failure_ttl=1,
                at_front=True,
            )
    except RedisError as error:
        log.info("queue_unreachable", error=str(error), jobs=1)
        return False
    return True


def top_up(waiting: int, *, models: int = 0) -> int:
    """Add as many jobs as the queues have fewer than runs, and ``models`` questions, wait; say how many were added."""
    try:
        with connect() as connection:
            target = queue(connection)
            missing = max(0, waiting - len(target))
            _enqueue(target, missing)
            asking = model_queue(connection)
            unasked = max(0, models - len(asking))
            _enqueue(asking, unasked, MODEL_JOB)
    except RedisError as error:
        log.info("queue_unreachable", error=str(error), jobs=waiting)
        return 0
    return missing + unasked


def _enqueue(target: Queue, count: int, job: str = JOB) -> None:
    for _ in range(count):
        target.enqueue_call(job, timeout=UNLIMITED, result_ttl=0, failure_ttl=FAILED_JOBS_SECONDS)


def push_audit() -> int:
    """Ask for the audit of every revision that waits for one, unless that was asked for already; say how many were.

    Each revision has a job of its own, so that the workers share them. What has no environment yet has to wait for an
    operator, and is asked for by a later sweep.
    """
    # Loads boxes and mutants, of which pages, that push runs, make no use.
    from evaluator.auditing.auditing import ready_for_audit

    added = 0
    try:
        with connect() as connection:
            target = audit_queue(connection)
            for revision in ready_for_audit():
                with suppress(DuplicateJobError):
                    target.enqueue_call(
                        AUDIT_JOB,
                        args=(revision.pk,),
                        job_id=f"audit-{revision.pk}",
                        unique=True,
                        timeout=UNLIMITED,
                        result_ttl=0,
                        failure_ttl=1,
                    )
                    added += 1
    except RedisError as error:
        log.info("queue_unreachable", error=str(error), jobs=1)
    return added
