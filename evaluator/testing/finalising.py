"""Finalise a submission when the last of its runs has ended, and stop runs that are no longer needed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun
from evaluator.queue.pushing import push
from evaluator.signals import submission_scored
from submissions.domain.publishing import publish_if_consented
from submissions.enums import SubmissionState
from submissions.models import Submission

if TYPE_CHECKING:
    from evaluator.models.runs import TestRunQuerySet

OPEN_STATES = [SubmissionState.QUEUED, SubmissionState.RUNNING]
UNFINISHED = [RunState.QUEUED, RunState.RUNNING]


def finalise(submission_id: int) -> None:
    """Mark the submission as scored, or held with the reason, when none of its runs is queued or running."""
    runs = TestRun.objects.filter(implementation__submission_id=submission_id, reevaluation__isnull=True)
    with transaction.atomic():
        if not runs.exists() or runs.filter(state__in=UNFINISHED).exists():
            return
        open_submission = Submission.objects.filter(pk=submission_id, state__in=OPEN_STATES)
        held = runs.filter(state=RunState.HELD).order_by("pk").first()
        if held is not None:
            open_submission.update(state=SubmissionState.HELD, held_reason=held.reason)
            return
        if not open_submission.update(state=SubmissionState.SCORED, scored_at=timezone.now(), held_reason=""):
            return
        transaction.on_commit(partial(_announce, submission_id))


def ready_to_finalise() -> list[int]:
    """Return open submissions whose runs have all ended but whose last worker died before finalising. One query."""
    runs = TestRun.objects.filter(implementation__submission=OuterRef("pk"))
    ended = Submission.objects.filter(Exists(runs), ~Exists(runs.filter(state__in=UNFINISHED)), state__in=OPEN_STATES)
    return list(ended.values_list("pk", flat=True))


def _announce(submission_id: int) -> None:
    submission = Submission.objects.select_related("owner", "system", "suite_version__suite").get(pk=submission_id)
    submission_scored.send(sender=Submission, submission=submission)
    publish_if_consented(submission=submission)


def requeue_held(runs: TestRunQuerySet) -> int:
    """Queue the held ones of ``runs`` again, push them once this transaction is committed, and return how many."""
    count = runs.filter(state=RunState.HELD).update(state=RunState.QUEUED, infra_count=0, not_before=None)
    transaction.on_commit(partial(push, count))
    return count


def stop_runs(runs: TestRunQuerySet, reason: str) -> None:
    """Cancel waiting ``runs`` and revoke the tokens of running ones; heartbeats then stop the boxes."""
    with transaction.atomic():
        ids = list(runs.values_list("pk", flat=True))
        stopped = TestRun.objects.filter(pk__in=ids, state__in=[*UNFINISHED, RunState.HELD])
        stopped.update(state=RunState.CANCELLED, token=None, lease_until=None)
        Attempt.objects.filter(run__in=ids, state=AttemptState.RUNNING).update(
            state=AttemptState.CANCELLED, reason=reason, ended=timezone.now()
        )
