"""Claiming runs: fairly, once each, and for no longer than the lease."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun
from evaluator.testing import claims
from submissions.enums import SubmissionState
from submissions.models import Submission
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory, runs_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def test_a_claim_holds_the_oldest_run_with_a_token_and_a_lease() -> None:
    first, second = runs_of(QueuedSubmissionFactory())
    claim = claims.claim_next(worker="w1")
    assert claim is not None
    first.refresh_from_db()
    second.refresh_from_db()
    assert (claim.run_id, claim.number, claim.label) == (first.pk, 1, f"run-{first.pk}-1")
    assert (first.state, first.token) == (RunState.RUNNING, claim.token)
    assert timedelta(seconds=50) < first.lease_until - timezone.now() <= timedelta(seconds=60)
    assert second.state == RunState.QUEUED
    submission = first.implementation.submission
    assert submission.state == SubmissionState.RUNNING
    assert claims.claim_next(worker="w1", submission_id=submission.pk + 1) is None
    attempt = Attempt.objects.get()
    assert (attempt.run_id, attempt.worker, attempt.state) == (first.pk, "w1", AttemptState.RUNNING)


def test_a_run_that_is_to_be_retried_later_is_not_claimed_before() -> None:
    run = TestRunFactory(not_before=timezone.now() + timedelta(minutes=1))
    assert claims.claim_next(worker="w1") is None
    TestRun.objects.update(not_before=timezone.now() - timedelta(seconds=1))
    claim = claims.claim_next(worker="w1")
    assert claim is not None
    assert claim.run_id == run.pk


def test_the_submitter_with_the_fewest_running_comes_first() -> None:
    greedy = QueuedSubmissionFactory()
    runs_of(greedy)
    modest = QueuedSubmissionFactory()
    runs_of(modest)
    order = []
    for _ in range(4):
        claim = claims.claim_next(worker="w1")
        assert claim is not None
        order.append(Submission.objects.get(implementations__test_runs=claim.run_id).pk)
    assert order == [greedy.pk, modest.pk, greedy.pk, modest.pk]


@pytest.mark.django_db(transaction=True)
def test_many_workers_at_once_claim_every_run_exactly_once() -> None:
    expected = sorted(run.pk for _ in range(6) for run in runs_of(QueuedSubmissionFactory()))

    def work(number: int) -> list[int]:
        try:
            taken = []
            while claim := claims.claim_next(worker=f"w{number}"):
                taken.append(claim.run_id)
            return taken
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        taken = [run for runs in pool.map(work, range(6)) for run in runs]
    # A worker may give up if others are faster at every run it looked at; the next job claims what it left.
    while claim := claims.claim_next(worker="last"):
        taken.append(claim.run_id)
    assert sorted(taken) == expected
    assert Attempt.objects.count() == len(expected)


def test_the_reaper_spares_only_boxes_of_live_claims_and_processes() -> None:
    TestRunFactory()
    claim = claims.claim_next(worker="w1")
    assert claim is not None
    gone = 2**22 + 1
    labels = [claim.label, f"{claim.label}-public", f"run-{claim.run_id}-2", "run-x-1", "check", "other-1-1"]
    labels += [f"job-{os.getpid()}-golden", f"job-{gone}"]
    live = {claim.label, f"{claim.label}-public", f"job-{os.getpid()}-golden"}
    assert {label for label in labels if claims.is_live(label)} == live
    TestRun.objects.update(state=RunState.QUEUED, token=None, lease_until=None)
    assert not claims.is_live(claim.label)
