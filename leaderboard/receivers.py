"""What this room does on news from the lower ones."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.dispatch import receiver

from evaluator.signals import reconciled, submission_scored
from leaderboard.domain.entries import rebuild_missing, recompute_submission, refresh_visibility
from submissions.models import Submission
from submissions.signals import submission_changed


@receiver(submission_scored)
def compute_entry(submission: Submission, **_: Any) -> None:
    """Compute the row of a newly scored submission (in the worker that scored it)."""
    recompute_submission(submission.pk)


@receiver(submission_changed)
def show_or_hide(submission: Submission, **_: Any) -> None:
    """Follow a change of visibility."""
    transaction.on_commit(partial(refresh_visibility, submission.pk))


@receiver(reconciled)
def catch_up(**_: Any) -> None:
    """Compute rows whose news was lost in a crash."""
    rebuild_missing()
