"""Job functions of the queue. A job fetches, claims and delegates."""

from __future__ import annotations

import secrets
import time
from typing import Final

import structlog

from benchmark_tasks.domain.bucket import StorageUnavailableError
from evaluator.auditing import auditing, self_checks
from evaluator.hosts.able import waits_for_another_host
from evaluator.queue.pushing import SITE, push, top_up
from evaluator.queue.rq_classes import worker_stops
from evaluator.sandbox.interface import SandboxError
from evaluator.testing import results
from evaluator.testing.evaluate import evaluate_next as _evaluate_next
from submissions.domain import checking

log = structlog.get_logger(__name__)
ANOTHER_HOST_SECONDS: Final = 2.0
QUICK_SECONDS: Final = 1.0
"""How long after its start a job begins another run."""


def evaluate_next() -> None:
    """Evaluate the next waiting run, if any that this host can take; otherwise leave the job to another host.

    Quick runs follow each other in one job, since a job's process costs as much as a quick box. Their own jobs then
    find nothing to do.
    """
    begun = time.monotonic()
    if _evaluate_next():
        while not worker_stops() and time.monotonic() < begun + QUICK_SECONDS and _evaluate_next():
            pass
    elif waits_for_another_host():
        push(1)
        # Meanwhile a worker of a host that can take it gets the job.
        time.sleep(ANOTHER_HOST_SECONDS)


def finalise_run(run_id: int) -> None:
    """Finalise what a run of a host without the pool ``site`` was the last one of."""
    with structlog.contextvars.bound_contextvars(run=run_id):
        results.finalise_run(run_id)


def audit_revision(revision_id: int) -> None:
    """Audit one task revision if it still waits for its audit. After an infrastructure error the next sweep retries."""
    with structlog.contextvars.bound_contextvars(revision=revision_id):
        try:
            auditing.audit_waiting_revision(revision_id)
        except (SandboxError, StorageUnavailableError) as error:
            log.warning("audit_failed", error=str(error))


def ask_or_judge_next() -> None:
    """Ask a model for the next waiting answer or verdict, if any."""
    # Imported here: the providers' SDKs are large, and only model workers need them.
    from evaluator.generation.asking import ask_next
    from evaluator.judging.judgements import judge_next

    # Alternate at random, so that a long run does not keep verdicts waiting, or the reverse.
    first, second = (ask_next, judge_next) if secrets.randbits(1) else (judge_next, ask_next)
    if not first():
        second()


def check_next_upload() -> None:
    """Check the next waiting upload, if any."""
    if checking.check_next():
        # Only one file per person is checked at a time; that person's next file may have been waiting for this one.
        top_up(checking.waiting(), SITE)


def check_endpoint(endpoint_id: int) -> None:
    """Test an endpoint with one tiny call and store the result on it."""
    from evaluator.providers.checking_endpoints import check

    check(endpoint_id)


def self_check() -> None:
    """Test the evaluator with a short round of attacks and store the result for the status page."""
    self_checks.run_short()
