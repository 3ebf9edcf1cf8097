"""What the queue calls. A job fetches, claims and delegates."""

from __future__ import annotations

import structlog

from evaluator.domain import auditing
from evaluator.domain.evaluate import evaluate_next as _evaluate_next
from evaluator.sandbox.types import SandboxError

log = structlog.get_logger(__name__)


def evaluate_next() -> None:
    """Evaluate whichever run is next; when nothing waits, do nothing."""
    _evaluate_next()


def audit_waiting() -> None:
    """Audit every task that waits for it. A fault of ours leaves the rest to the next sweep."""
    for revision, epoch in auditing.waiting():
        try:
            result = auditing.audit_revision(revision, epoch)
        except SandboxError as error:
            log.warning("audit_failed", task=str(revision), error=str(error))
            return
        log.info("audited", task=str(revision), reasons=list(result.reasons))
