"""Choose the next test run, and claim it with a lease (``evaluator.queue.leases``) and an attempt."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F

from evaluator.enums import AttemptState, RunState
from evaluator.hosts.able import able
from evaluator.models import Attempt, TestRun
from evaluator.queue import leases
from submissions.enums import SubmissionState
from submissions.models import Submission

if TYPE_CHECKING:
    from collections.abc import Iterator

_RUN_LABEL = re.compile(r"run-(\d+)-(\d+)(?:-[a-z]+)*")
_JOB_LABEL = re.compile(r"job-(\d+)(?:-[a-z0-9]+)*")

CANDIDATES = 8
"""How many queued runs of one owner to try before the next owner's: other workers may be faster at some."""


def claim_next(*, worker: str, submission_id: int | None = None) -> Attempt | None:
    """Claim the queued run whose submitter has the fewest running ones; ``None`` when nothing waits.

    ``submission_id`` narrows it to one submission (``manage.py submit --wait``).
    """
    for run_id in fair_order(submission_id):
        claim = _claim(run_id, worker)
        if claim is not None:
            return claim
    return None


def fair_order(submission_id: int | None = None) -> Iterator[int]:
    """Yield run ids, oldest first within each owner, starting with the owners with the fewest running.

    Covers all owners, so that a job finds work if any is waiting. Later owners are queried only when needed.
    """
    owner = "implementation__submission__owner_id"
    waiting = leases.due(TestRun.objects.all())
    # A process that works for one submission tries it here, whatever other hosts offer.
    waiting = able(waiting) if submission_id is None else waiting.filter(implementation__submission=submission_id)
    running = Counter(TestRun.objects.filter(state=RunState.RUNNING).order_by().values_list(owner, flat=True))
    owners = waiting.order_by(owner).values_list(owner, flat=True).distinct()
    for pk in sorted(owners, key=lambda pk: (running[pk], pk)):
        # First results come before re-evaluations.
        in_order = waiting.filter(**{owner: pk}).order_by(F("reevaluation").asc(nulls_first=True), "pk")
        yield from list(in_order.values_list("pk", flat=True)[:CANDIDATES])


def _claim(run_id: int, worker: str) -> Attempt | None:
    with transaction.atomic():
        token = leases.claim(TestRun, run_id)
        if token is None:
            return None
        number = Attempt.objects.filter(run_id=run_id).count() + 1
        attempt = Attempt.objects.create(run_id=run_id, number=number, token=token, worker=worker)
        Submission.objects.filter(implementations__test_runs=run_id, state=SubmissionState.QUEUED).update(
            state=SubmissionState.RUNNING
        )
    return attempt


def is_live(label: str) -> bool:
    """Return whether a box's label belongs to live work; used to reap the others.

    ``run-<run>-<attempt>[-<part>]`` belongs to a claim, live while its token holds the run. ``job-<process>[-<part>]``
    belongs to work outside the queue (an audit) on this machine, live while the process is.
    """
    if match := _RUN_LABEL.fullmatch(label):
        attempt = Attempt.objects.filter(run_id=int(match[1]), number=int(match[2]), state=AttemptState.RUNNING)
        return attempt.filter(run__state=RunState.RUNNING, run__token=F("token")).exists()
    if match := _JOB_LABEL.fullmatch(label):
        return Path("/proc", match[1]).exists()
    return False
