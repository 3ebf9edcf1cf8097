"""What the queue calls. A job fetches, claims and delegates."""

from __future__ import annotations

import secrets

import structlog

from evaluator.auditing import auditing, self_checks
from evaluator.queue.pushing import UPLOADS, top_up
from evaluator.sandbox.types import SandboxError
from evaluator.testing.evaluate import evaluate_next as _evaluate_next
from submissions.domain import checking

log = structlog.get_logger(__name__)


def evaluate_next() -> None:
    """Evaluate whichever run is next; when nothing waits, do nothing."""
    _evaluate_next()


def audit_revision(revision_id: int) -> None:
    """Audit one task revision if it still waits for it. An infrastructure error leaves it to the next sweep."""
    try:
        auditing.audit_waiting_revision(revision_id)
    except SandboxError as error:
        log.warning("audit_failed", revision=revision_id, error=str(error))


def ask_or_judge_next() -> None:
    """Ask a model for whichever answer or verdict is next; when nothing waits, do nothing."""
    # Imported here: the providers' SDKs are large, and only model workers need them.
    from evaluator.generation.asking import ask_next
    from evaluator.judging.judgements import judge_next

    # In turn, so that a long run does not keep the verdicts waiting, nor the other way round.
    first, second = (ask_next, judge_next) if secrets.randbits(1) else (judge_next, ask_next)
    if not first():
        second()


def check_next_upload() -> None:
    """Check whichever uploaded file is next; when none waits, do nothing."""
    if checking.check_next():
        # Of one person's files one is checked at a time; the next may have been waiting for this one.
        top_up(checking.waiting(), UPLOADS)


def check_endpoint(endpoint_id: int) -> None:
    """Try an endpoint with one tiny call; what came of it is kept on the endpoint."""
    from evaluator.providers.checking_endpoints import check

    check(endpoint_id)


def self_check() -> None:
    """Try the evaluator with a short round of attacks; what came of it is kept for the status page."""
    self_checks.run_short()
