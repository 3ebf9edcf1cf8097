"""Open and end cases on signals of other apps.

Django logs an error here without stopping the evaluation, and the sweep catches up.
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
from reviews.annotators import conflicts, reviewers
from reviews.cases import holding, triggers, voiding
from reviews.models import Reviewer
from submissions.enums import Visibility
from submissions.models import Implementation, Submission, Team, User
from submissions.signals import account_erased, submission_changed, team_changed


@receiver(implementation_rated)
def review_if_needed(implementation: Implementation, **_: Any) -> None:
    """Open a case if the new verdict requires one, in the worker that stored it."""
    transaction.on_commit(partial(triggers.consider, implementation), robust=True)


@receiver([submission_scored, submission_reevaluated])
def review_submission(submission: Submission, **_: Any) -> None:
    """Open cases after a submission was evaluated or re-evaluated. Existing labels are not changed."""
    transaction.on_commit(partial(triggers.consider_submission, submission.pk), robust=True)


@receiver(submission_changed)
def follow_visibility(submission: Submission, **_: Any) -> None:
    """Review published submissions, and end reviews of withdrawn or hidden ones."""
    transaction.on_commit(partial(_follow_visibility, submission), robust=True)


@receiver(team_changed)
def hand_back_of_team(team: Team, **_: Any) -> None:
    """Take answers of a team back from its members who hold them for labelling."""
    for reviewer in Reviewer.objects.filter(user__memberships__team=team).order_by("pk"):
        conflicts.hand_back_conflicting(reviewer)


@receiver(account_erased)
def forget_reviewer(user: User, **_: Any) -> None:
    """Keep a reviewer's labels under the pseudonym, without what describes the person."""
    reviewer = Reviewer.objects.filter(user=user).first()
    if reviewer is not None:
        reviewers.forget(reviewer)


@receiver(reconciled)
def catch_up(**_: Any) -> None:
    """End expired leases, and open cases whose signals were lost in a crash."""
    holding.expire()
    triggers.consider_missed()


def _follow_visibility(submission: Submission) -> None:
    if submission.visibility in {Visibility.WITHDRAWN, Visibility.HIDDEN}:
        voiding.end_of_submission(submission.pk)
    elif submission.visibility == Visibility.PUBLISHED:
        voiding.revive_unrated(submission.pk)
        triggers.consider_submission(submission.pk)
