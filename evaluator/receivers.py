"""What this room does on news from the lower ones: queue work, after commit."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.dispatch import receiver

from benchmark_tasks.signals import suite_imported
from evaluator.domain.queueing import plan, push_audit
from evaluator.domain.results import cancel_runs
from submissions.models import Submission
from submissions.signals import submission_cancelled, submission_created


@receiver(submission_created)
def plan_after_commit(submission: Submission, **_: Any) -> None:
    """Plan the runs of a new submission; if this process dies before, the sweep does."""
    transaction.on_commit(partial(plan, submission.pk))


@receiver(submission_cancelled)
def stop_after_commit(submission: Submission, **_: Any) -> None:
    """Drop and stop the runs of a cancelled submission."""
    transaction.on_commit(partial(cancel_runs, submission.pk))


@receiver(suite_imported)
def audit_after_import(**_: Any) -> None:
    """Audit a new suite version; if nobody hears this, the sweep asks again."""
    push_audit()
