"""Moving a submission on when the last of its runs has ended."""

from __future__ import annotations

from functools import partial

from django.db import transaction
from django.utils import timezone

from evaluator.enums import RunState
from evaluator.models import TestRun
from evaluator.signals import submission_scored
from submissions.domain.publishing import publish_if_consented
from submissions.enums import SubmissionState
from submissions.models import Submission


def submission_of(run_id: int) -> int:
    """The id of the submission that a run belongs to."""
    return TestRun.objects.values_list("implementation__submission_id", flat=True).get(pk=run_id)


def settle(submission_id: int) -> None:
    """Move the submission on when no run of it is queued or under way any more: scored, or held with the reason."""
    runs = TestRun.objects.filter(implementation__submission_id=submission_id)
    open_states = [SubmissionState.QUEUED, SubmissionState.RUNNING]
    with transaction.atomic():
        if not runs.exists() or runs.filter(state__in=[RunState.QUEUED, RunState.RUNNING]).exists():
            return
        unsettled = Submission.objects.filter(pk=submission_id, state__in=open_states)
        held = runs.filter(state=RunState.HELD).order_by("pk").first()
        if held is not None:
            unsettled.update(state=SubmissionState.HELD, held_reason=held.reason)
            return
        if not unsettled.update(state=SubmissionState.SCORED, scored_at=timezone.now(), held_reason=""):
            return
        transaction.on_commit(partial(_announce, submission_id))


def _announce(submission_id: int) -> None:
    submission = Submission.objects.select_related("owner", "system", "suite_version__suite").get(pk=submission_id)
    submission_scored.send(sender=Submission, submission=submission)
    publish_if_consented(submission=submission)
