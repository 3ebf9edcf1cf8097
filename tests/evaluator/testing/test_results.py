"""Deciding runs: once, by the holder of the lease, and the consequences for the submission."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from evaluator import jobs
from evaluator.enums import AttemptState, ReevaluationState, RunState
from evaluator.generation import generating
from evaluator.models import Attempt, TestRun
from evaluator.outcomes import Outcome
from evaluator.queue import leases, pushing
from evaluator.sandbox.interface import SandboxError
from evaluator.signals import submission_scored
from evaluator.testing import claims, results
from evaluator.testing.verdicts import CaseResult, Verdict
from submissions.enums import SubmissionState, Visibility
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import AuditEvent, Submission
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.evaluator.factories import QueuedSubmissionFactory, runs_of
from tests.evaluator.reevaluations import decide, scored, start
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

PASSED = Verdict(
    outcome=Outcome.PASSED,
    cases=(CaseResult(seed=1, index=0, public=True, outcome=Outcome.PASSED),),
    log="hello",
    seconds=0.5,
)


@pytest.fixture
def on_commit(django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> DjangoCaptureOnCommitCallbacks:
    return django_capture_on_commit_callbacks


def one_task_submission(**fields: object) -> Submission:
    return QueuedSubmissionFactory(suite_version=SuiteVersionFactory(tasks=1), **fields)


def claim() -> Attempt:
    taken = claims.claim_next(worker="w1")
    assert taken is not None
    return taken


def lose_leases() -> None:
    """Let all leases expire, as after the death of every worker."""
    TestRun.objects.filter(state=RunState.RUNNING).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert results.expire_runs() == [TestRun.objects.get().pk]


def test_the_holder_decides(on_commit: DjangoCaptureOnCommitCallbacks) -> None:
    submission = one_task_submission()
    (run,) = runs_of(submission)
    scored = []
    submission_scored.connect(receiver := lambda submission, **_: scored.append(submission.pk))
    with on_commit(execute=True):
        assert results.accept(claim(), verdict=PASSED, environment_digest="sha256:1")
    submission_scored.disconnect(receiver)
    run.refresh_from_db()
    submission.refresh_from_db()
    assert (run.state, run.outcome, run.log, run.seconds) == (RunState.DONE, "passed", "hello", 0.5)
    assert (run.token, run.environment_digest) == (None, "sha256:1")
    assert run.cases == [
        {"seed": 1, "index": 0, "public": True, "outcome": "passed", "difference": "", "error": "", "name": ""}
    ]
    assert Attempt.objects.get().state == AttemptState.ACCEPTED
    assert submission.state == SubmissionState.SCORED
    assert scored == [submission.pk]


def test_the_verdict_of_the_suites_own_test_is_stored_beside_and_decides_nothing() -> None:
    submission = one_task_submission()
    (run,) = runs_of(submission)
    beside = replace(PASSED, outcome=Outcome.WRONG_OUTPUT, reason="test_sum failed", log="Test Failed", seconds=2.0)
    assert results.accept(claim(), verdict=PASSED, environment_digest="sha256:1", upstream_verdict=beside)
    run.refresh_from_db()
    assert (run.outcome, run.upstream_outcome) == ("passed", "wrong_output")
    assert run.upstream == {"reason": "test_sum failed", "log": "Test Failed", "seconds": 2.0}


def test_an_infrastructure_error_of_the_suites_own_test_is_stored_as_a_reason() -> None:
    submission = one_task_submission()
    (run,) = runs_of(submission)
    error = SandboxError("no box at /secret/place", public="the box could not be started")
    assert results.accept(claim(), verdict=PASSED, environment_digest="sha256:1", upstream_verdict=error)
    run.refresh_from_db()
    assert (run.outcome, run.upstream_outcome) == ("passed", "")
    assert run.upstream == {"reason": "the box could not be started"}


def test_a_result_without_the_token_is_discarded() -> None:
    submission = one_task_submission()
    (run,) = runs_of(submission)
    late = claim()
    lose_leases()
    TestRun.objects.update(not_before=None)
    winner = claim()
    assert not results.accept(late, verdict=PASSED, environment_digest="d")
    run.refresh_from_db()
    assert (run.state, run.token) == (RunState.RUNNING, winner.token)
    assert results.accept(winner, verdict=PASSED, environment_digest="d")
    assert not results.accept(winner, verdict=PASSED, environment_digest="d")
    states = list(Attempt.objects.order_by("number").values_list("state", flat=True))
    assert states == [AttemptState.INFRA, AttemptState.ACCEPTED]


@pytest.mark.parametrize("killed", [False, True])
def test_an_infrastructure_error_or_a_lost_lease_is_retried_later_and_held_at_the_third(killed: bool) -> None:
    submission = one_task_submission()
    (run,) = runs_of(submission)
    reason, public = (leases.LEASE_LOST,) * 2 if killed else ("the engine /run/x is gone", "the engine is gone")
    for number in (1, 2, 3):
        TestRun.objects.update(not_before=None)
        lost = claim()
        if killed:
            assert results.expire_runs() == []
            lose_leases()
            assert not leases.extend(TestRun, lost.run_id, lost.token)
        else:
            results.record_infra(lost, reason=reason, public=public)
        results.record_infra(lost, reason="too late", public="too late")
        run.refresh_from_db()
        assert (run.token, run.outcome, run.infra_count, run.reason) == (None, "", number, public)
        if number < 3:
            assert run.state == RunState.QUEUED
            assert run.not_before > timezone.now() + timedelta(seconds=20 * number - 5)
    submission.refresh_from_db()
    assert (run.state, run.not_before) == (RunState.HELD, None)
    assert (submission.state, submission.held_reason) == (SubmissionState.HELD, public)
    assert list(Attempt.objects.values_list("state", "reason")) == [(AttemptState.INFRA, reason)] * 3


def test_an_error_of_the_whole_machine_makes_the_run_wait_longer_each_time_and_never_holds_it() -> None:
    submission = one_task_submission()
    (run,) = runs_of(submission)
    waited = []
    for _ in range(7):
        TestRun.objects.update(not_before=None)
        before = timezone.now()
        results.record_infra(claim(), reason="no docker at /run/x", public="no engine", everywhere=True)
        run.refresh_from_db()
        assert (run.state, run.infra_count, run.reason) == (RunState.QUEUED, 0, "waiting: no engine")
        waited.append((run.not_before - before).total_seconds())
    # However slow this machine is, each wait is the expected one, and not that of the next try.
    for seconds, expected in zip(waited, [20, 40, 80, 160, 300, 300, 300], strict=True):
        assert expected <= seconds < expected + 15
    submission.refresh_from_db()
    assert submission.state == SubmissionState.RUNNING
    TestRun.objects.update(not_before=None)
    assert results.accept(claim(), verdict=PASSED, environment_digest="d")
    run.refresh_from_db()
    assert (run.outcome, run.reason) == ("passed", "")


def test_a_released_run_waits_again_without_counting_an_error() -> None:
    (run,) = runs_of(one_task_submission())
    results.release(claim(), reason="stopping")
    run.refresh_from_db()
    assert (run.state, run.token, run.infra_count) == (RunState.QUEUED, None, 0)


def test_only_maintainers_retry_and_only_held_submissions(on_commit: DjangoCaptureOnCommitCallbacks) -> None:
    submission = one_task_submission()
    (run,) = runs_of(submission)
    maintainer = UserFactory(is_staff=True)
    with pytest.raises(WrongStateError, match="Only a held submission"):
        generating.retry_held(submission=submission, actor=maintainer)
    for _ in range(3):
        TestRun.objects.update(not_before=None)
        results.record_infra(claim(), reason="gone", public="gone")
    submission.refresh_from_db()
    with pytest.raises(NotAllowedError):
        generating.retry_held(submission=submission, actor=submission.owner)
    with on_commit():
        assert generating.retry_held(submission=submission, actor=maintainer) == 1
    run.refresh_from_db()
    assert (submission.state, submission.held_reason) == (SubmissionState.QUEUED, "")
    assert (run.state, run.infra_count, run.not_before) == (RunState.QUEUED, 0, None)
    assert AuditEvent.objects.get().data == {"runs": 1}


def test_cancelling_drops_waiting_runs_and_takes_the_token_from_running_ones() -> None:
    submission = QueuedSubmissionFactory()
    runs_of(submission)
    held = claim()
    results.cancel_runs(submission.pk)
    assert set(TestRun.objects.values_list("state", flat=True)) == {RunState.CANCELLED}
    assert not leases.extend(TestRun, held.run_id, held.token)
    assert not results.accept(held, verdict=PASSED, environment_digest="d")
    assert Attempt.objects.get().state == AttemptState.CANCELLED


def test_a_submission_is_scored_only_with_its_last_run() -> None:
    submission = QueuedSubmissionFactory()
    runs_of(submission)
    results.accept(claim(), verdict=PASSED, environment_digest="d")
    submission.refresh_from_db()
    assert submission.state == SubmissionState.RUNNING
    results.accept(claim(), verdict=PASSED, environment_digest="d")
    submission.refresh_from_db()
    assert submission.state == SubmissionState.SCORED


def test_consent_given_beforehand_publishes_when_scored(on_commit: DjangoCaptureOnCommitCallbacks) -> None:
    submission = one_task_submission(publish_when_scored=True, code_licence="MIT")
    runs_of(submission)
    with on_commit(execute=True):
        results.accept(claim(), verdict=PASSED, environment_digest="d")
    submission.refresh_from_db()
    assert submission.visibility == Visibility.PUBLISHED
    assert submission.entry.published


def test_a_host_without_the_pool_site_leaves_finalising_to_one_that_has_it(redis_url: str, settings: Settings) -> None:
    submission = QueuedSubmissionFactory()
    runs_of(submission)
    with on_host(settings, "tests", "builds", "model_calls"):
        results.accept(claim(), verdict=PASSED, environment_digest="d")
        assert finalising_jobs() == []
        last = claim()
        for _ in range(2):  # the answer to the first commit was lost
            results.accept(last, verdict=PASSED, environment_digest="d")
        assert finalising_jobs() == [last.run_id]
    submission.refresh_from_db()
    assert submission.state == SubmissionState.RUNNING
    with on_host(settings, "site"):
        jobs.finalise_run(last.run_id)
    submission.refresh_from_db()
    assert submission.state == SubmissionState.SCORED


def test_where_one_holds_a_run_the_other_holds_the_submission(redis_url: str, settings: Settings) -> None:
    submission = one_task_submission()
    (run,) = runs_of(submission)
    with on_host(settings, "tests"):
        for _ in range(leases.INFRA_TRIES):
            assert finalising_jobs() == []
            TestRun.objects.update(not_before=None)
            results.record_infra(claim(), reason="/srv/x is gone", public="the host failed")
        assert finalising_jobs() == [run.pk]
    jobs.finalise_run(run.pk)
    submission.refresh_from_db()
    assert (submission.state, submission.held_reason) == (SubmissionState.HELD, "the host failed")


def test_a_reevaluation_is_applied_where_the_site_is(redis_url: str, settings: Settings) -> None:
    reevaluation = start(scored("passed", evaluator="1"))
    with on_host(settings, "tests"):
        decide()
        reevaluation.refresh_from_db()
        assert reevaluation.state == ReevaluationState.RUNNING
        assert finalising_jobs() == [reevaluation.runs.get().pk]
    jobs.finalise_run(reevaluation.runs.get().pk)
    reevaluation.refresh_from_db()
    assert reevaluation.state == ReevaluationState.APPLIED


@contextmanager
def on_host(settings: Settings, *pools: str) -> Iterator[None]:
    """Act as a host with these pools."""
    own = settings.ENVIRONMENT
    settings.ENVIRONMENT = replace(own, pools=list(pools))
    yield
    settings.ENVIRONMENT = own


def finalising_jobs() -> list[int]:
    """The runs that the jobs for hosts of the site name."""
    with pushing.opened(pushing.SITE) as queue:
        return [*chain.from_iterable(job.args for job in queue.jobs if job.func_name == results.FINALISE_JOB)]
