"""Deciding a test run: an accepted verdict, a fault of ours, and what both mean for the submission."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from evaluator.domain.queueing import push
from evaluator.domain.settling import settle, submission_of
from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun
from submissions.domain.audit import record
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import Submission, User

if TYPE_CHECKING:
    from evaluator.domain.claims import Claim
    from evaluator.grading.types import Verdict

INFRA_TRIES = 3
"""How often a fault of ours is retried before the submission is held for an operator (DESIGN, section 3)."""


def accept(claim: Claim, *, verdict: Verdict, environment_digest: str) -> bool:
    """Store the verdict if ``claim`` still holds its run; say whether it did. A late result is discarded."""
    with transaction.atomic():
        accepted = TestRun.objects.filter(pk=claim.run_id, state=RunState.RUNNING, token=claim.token).update(
            state=RunState.DONE,
            token=None,
            lease_until=None,
            environment_digest=environment_digest,
            outcome=verdict.outcome.value,
            reason=verdict.reason,
            cases=[asdict(case) for case in verdict.cases],
            log=verdict.log,
            seconds=verdict.seconds,
            finished=timezone.now(),
        )
        _end_attempt(claim, AttemptState.ACCEPTED if accepted else AttemptState.LOST, "")
    if accepted:
        settle(submission_of(claim.run_id))
    return bool(accepted)


def record_infra(claim: Claim, *, reason: str) -> None:
    """Store a fault of ours: try again later, and after three tries hold the run for an operator."""
    with transaction.atomic():
        run = (
            TestRun.objects.select_for_update()
            .filter(pk=claim.run_id, state=RunState.RUNNING, token=claim.token)
            .first()
        )
        _end_attempt(claim, AttemptState.INFRA if run else AttemptState.LOST, reason)
        if run is None:
            return
        run.infra_count += 1
        run.state = RunState.HELD if run.infra_count >= INFRA_TRIES else RunState.QUEUED
        run.reason = reason
        run.token = run.lease_until = None
        delay = timedelta(seconds=settings.ENVIRONMENT.infra_retry_seconds * run.infra_count)
        run.not_before = timezone.now() + delay
        run.save(update_fields=["infra_count", "state", "reason", "token", "lease_until", "not_before"])
    settle(submission_of(claim.run_id))


def release(claim: Claim, *, reason: str) -> None:
    """Give an unfinished run back at once (the worker is being stopped), without counting a fault."""
    with transaction.atomic():
        freed = TestRun.objects.filter(pk=claim.run_id, state=RunState.RUNNING, token=claim.token).update(
            state=RunState.QUEUED, token=None, lease_until=None
        )
        _end_attempt(claim, AttemptState.LOST, reason)
        if freed:
            transaction.on_commit(partial(push, 1))


def retry_held(*, submission: Submission, actor: User) -> int:
    """Queue the held runs of ``submission`` again and say how many. For maintainers; recorded."""
    if not actor.is_staff:
        msg = "Only maintainers retry held submissions."
        raise NotAllowedError(msg)
    with transaction.atomic():
        if not Submission.objects.filter(pk=submission.pk, state=SubmissionState.HELD).update(
            state=SubmissionState.QUEUED, held_reason=""
        ):
            msg = "Only a held submission can be retried."
            raise WrongStateError(msg)
        held = TestRun.objects.filter(implementation__submission=submission, state=RunState.HELD)
        ids = list(held.values_list("pk", flat=True))
        TestRun.objects.filter(pk__in=ids).update(state=RunState.QUEUED, infra_count=0, not_before=None)
        record(verb=Verb.RETRIED, subject=submission, actor=actor, data={"runs": len(ids)})
        transaction.on_commit(partial(push, len(ids)))
    submission.refresh_from_db()
    return len(ids)


def cancel_runs(submission_id: int) -> None:
    """Drop what waits and take the token from what runs; heartbeats then stop the boxes."""
    with transaction.atomic():
        runs = TestRun.objects.filter(
            implementation__submission_id=submission_id,
            state__in=[RunState.QUEUED, RunState.RUNNING, RunState.HELD],
        )
        tokens = [token for token in runs.values_list("token", flat=True) if token]
        runs.update(state=RunState.CANCELLED, token=None, lease_until=None)
        Attempt.objects.filter(token__in=tokens).update(
            state=AttemptState.CANCELLED, reason="The submission was cancelled.", ended=timezone.now()
        )


def _end_attempt(claim: Claim, state: AttemptState, reason: str) -> None:
    Attempt.objects.filter(token=claim.token, state=AttemptState.RUNNING).update(
        state=state, reason=reason, ended=timezone.now()
    )
