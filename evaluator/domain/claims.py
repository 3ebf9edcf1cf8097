"""Claiming a test run, keeping the claim alive, and letting go of it.

A run is held by a token and a lease. Whoever holds the newest token decides the run; everybody else's result is
discarded (SANDBOX, section f). All changes are conditional updates, so a job that is delivered twice works once.
"""

from __future__ import annotations

import os
import re
import uuid
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun
from submissions.enums import SubmissionState
from submissions.models import Submission

if TYPE_CHECKING:
    from django.db.models import QuerySet

_RUN_LABEL = re.compile(r"run-(\d+)-(\d+)(?:-[a-z]+)*")
_JOB_LABEL = re.compile(r"job-(\d+)(?:-[a-z0-9]+)*")

CANDIDATES = 8
"""How many queued runs are looked at before giving up: other workers may be faster at some."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One attempt's right to decide one run."""

    run_id: int
    token: uuid.UUID
    number: int

    @property
    def label(self) -> str:
        """What this attempt's boxes are called on the machine."""
        return f"run-{self.run_id}-{self.number}"


def lease() -> timedelta:
    """How long a claim lasts without a heartbeat."""
    return timedelta(seconds=settings.ENVIRONMENT.lease_seconds)


def claim_next(*, worker: str, submission_id: int | None = None) -> Claim | None:
    """Claim the queued run whose submitter has the fewest runs under way; ``None`` when nothing waits.

    ``submission_id`` narrows it to one submission (``manage.py submit --wait``).
    """
    for run_id in _fair_order(submission_id)[:CANDIDATES]:
        claim = _claim(run_id, worker)
        if claim is not None:
            return claim
    return None


def _waiting(submission_id: int | None) -> QuerySet[TestRun]:
    due = Q(not_before__isnull=True) | Q(not_before__lte=timezone.now())
    waiting = TestRun.objects.filter(due, state=RunState.QUEUED)
    if submission_id is not None:
        waiting = waiting.filter(implementation__submission_id=submission_id)
    return waiting


def _fair_order(submission_id: int | None) -> list[int]:
    """Run ids, oldest first within the owner who has the fewest running."""
    owner = "implementation__submission__owner_id"
    running = Counter(TestRun.objects.filter(state=RunState.RUNNING).values_list(owner, flat=True))
    owners = sorted(
        _waiting(submission_id).order_by(owner).values_list(owner, flat=True).distinct(),
        key=lambda pk: (running[pk], pk),
    )
    for pk in owners:
        # Who waits for a first result comes before what is only measured again.
        in_order = _waiting(submission_id).filter(**{owner: pk}).order_by(F("reevaluation").asc(nulls_first=True), "pk")
        runs = list(in_order.values_list("pk", flat=True)[:CANDIDATES])
        if runs:
            return runs
    return []


def _claim(run_id: int, worker: str) -> Claim | None:
    token = uuid.uuid4()
    with transaction.atomic():
        taken = TestRun.objects.filter(pk=run_id, state=RunState.QUEUED).update(
            state=RunState.RUNNING, token=token, lease_until=timezone.now() + lease()
        )
        if not taken:
            return None
        number = Attempt.objects.filter(run_id=run_id).count() + 1
        Attempt.objects.create(run_id=run_id, number=number, token=token, worker=worker)
        Submission.objects.filter(implementations__test_runs=run_id, state=SubmissionState.QUEUED).update(
            state=SubmissionState.RUNNING
        )
    return Claim(run_id=run_id, token=token, number=number)


def extend(claim: Claim) -> bool:
    """Heartbeat: renew the lease. False when the claim is lost (expired and taken, or cancelled)."""
    held = TestRun.objects.filter(pk=claim.run_id, state=RunState.RUNNING, token=claim.token)
    return bool(held.update(lease_until=timezone.now() + lease()))


def is_live(label: str) -> bool:
    """Whether a box's label belongs to somebody who still waits for it; the reaper asks.

    ``run-<run>-<attempt>[-<part>]`` is a claim's, live while its token holds the run. ``job-<process>[-<part>]`` is
    that of work outside the queue (an audit) on this machine, live while the process is.
    """
    if match := _RUN_LABEL.fullmatch(label):
        attempt = Attempt.objects.filter(run_id=int(match[1]), number=int(match[2]), state=AttemptState.RUNNING)
        return attempt.filter(run__state=RunState.RUNNING, run__token=F("token")).exists()
    if match := _JOB_LABEL.fullmatch(label):
        return Path("/proc", match[1]).exists()
    return False


def job_label() -> str:
    """What the boxes of work outside the queue are called."""
    return f"job-{os.getpid()}"


def expire_leases() -> int:
    """Queue again every run whose worker stopped renewing its lease; say how many."""
    expired = 0
    for run in TestRun.objects.filter(state=RunState.RUNNING, lease_until__lt=timezone.now()):
        with transaction.atomic():
            freed = TestRun.objects.filter(
                pk=run.pk, state=RunState.RUNNING, token=run.token, lease_until__lt=timezone.now()
            ).update(state=RunState.QUEUED, token=None, lease_until=None)
            if freed:
                Attempt.objects.filter(run=run, state=AttemptState.RUNNING).update(
                    state=AttemptState.LOST, reason="Its worker stopped renewing the lease.", ended=timezone.now()
                )
                expired += 1
    return expired
