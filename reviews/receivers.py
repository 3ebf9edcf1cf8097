"""What this room does on news from the lower ones. A fault here, which Django logs, stops no evaluation: the sweep
catches up.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.dispatch import receiver

from evaluator.signals import (
    implementation_rated,
    reconciled,
    submission_reevaluated,
    submission_scored,
)
from reviews.cases import holding, triggers, voiding
from submissions.enums import Visibility
from submissions.models import Implementation, Submission
from submissions.signals import submission_changed


@receiver(implementation_rated)
def review_if_needed(implementation: Implementation, **_: Any) -> None:
    """Open a case where the verdict calls for one (in the worker that stored it)."""
    transaction.on_commit(partial(triggers.consider, implementation), robust=True)


@receiver([submission_scored, submission_reevaluated])
def review_submission(submission: Submission, **_: Any) -> None:
    """Open cases once a submission is measured, or measured again. What annotators have labelled stays as it is."""
    transaction.on_commit(partial(triggers.consider_submission, submission.pk), robust=True)


@receiver(submission_changed)
def follow_visibility(submission: Submission, **_: Any) -> None:
    """Review what everybody may see, and end the review of what was taken away."""
    transaction.on_commit(partial(_follow_visibility, submission), robust=True)


@receiver(reconciled)
def catch_up(**_: Any) -> None:
    """End late leases, and open the cases whose news was lost in a crash."""
    holding.expire()
    triggers.consider_missed()


def _follow_visibility(submission: Submission) -> None:
    if submission.visibility in {Visibility.WITHDRAWN, Visibility.HIDDEN}:
        voiding.end_of_submission(submission.pk)
    elif submission.visibility == Visibility.PUBLISHED:
        voiding.revive_asked_for(submission.pk)
        triggers.consider_submission(submission.pk)
