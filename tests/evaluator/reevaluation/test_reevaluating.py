"""Re-evaluations: old results count until all new ones exist; then everything changes at once, publicly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.enums import AttemptState, ReevaluationState, RunState
from evaluator.models import Attempt, Reevaluation, TestRun
from evaluator.outcomes import Outcome
from evaluator.queue import leases
from evaluator.reevaluation import reevaluating
from evaluator.reevaluation.reevaluating import Change, Difference, differences
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from evaluator.sandbox.interface import SandboxError
from evaluator.sweep import reconcile
from evaluator.testing import claims, results
from evaluator.testing.progress import summary
from evaluator.testing.verdicts import Verdict
from leaderboard.models import Entry
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import AuditEvent, Submission
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory
from tests.evaluator.reevaluations import decide, next_version, planned, scored, start
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pytest_django import DjangoCaptureOnCommitCallbacks

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_old_results_count_until_all_new_ones_exist_then_all_change_at_once(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    submission = scored("passed", "raised", "bad_patch", evaluator="1")
    old = list(TestRun.objects.order_by("pk"))
    version = reevaluating.new_epoch(suite=submission.suite_version.suite, actor=None)
    with django_capture_on_commit_callbacks(execute=True):
        reevaluation = start(submission, reason="Seeds leaked.")
    runs = list(reevaluation.runs.order_by("implementation__revision_id"))
    assert [(run.state, run.outcome, run.reason) for run in runs] == [
        (RunState.QUEUED, "", ""), (RunState.QUEUED, "", ""), (RunState.DONE, "bad_patch", "line 3: no"),
    ]  # fmt: skip
    assert {(run.seed_epoch, run.evaluator_version) for run in runs} == {(2, EVALUATOR_VERSION)}
    decide(Outcome.WRONG_OUTPUT)
    submission.refresh_from_db()
    assert (submission.state, submission.suite_version.number) == (SubmissionState.SCORED, 1)
    assert [task["outcome"] for task in summary(submission)["tasks"]] == ["passed", "raised", "bad_patch"]
    assert Entry.objects.get().metrics.get(category=None).tests_passed == 1
    assert planned(submission).under_way
    decide(Outcome.RAISED)
    submission.refresh_from_db()
    reevaluation.refresh_from_db()
    assert (reevaluation.state, submission.suite_version) == (ReevaluationState.APPLIED, version)
    assert [task["outcome"] for task in summary(submission)["tasks"]] == ["wrong_output", "raised", "bad_patch"]
    entry = Entry.objects.get()
    assert (entry.suite_version, entry.metrics.get(category=None).tests_passed) == (version, 0)
    assert [run.supersedes for run in reevaluation.runs.order_by("implementation__revision_id")] == old
    assert set(TestRun.objects.current()) == set(runs)
    # Nothing is overwritten.
    assert [run.outcome for run in TestRun.objects.filter(pk__in=[run.pk for run in old]).order_by("pk")] == [
        "passed", "raised", "bad_patch",
    ]  # fmt: skip
    assert not planned(submission).needed


def test_the_difference_is_published() -> None:
    submission = scored("passed", "raised", "passed", evaluator="1")
    slugs = [revision.task.slug for revision in submission.suite_version.revisions.order_by("pk")]
    reevaluation = start(submission, reason="A better evaluator.")
    decide(Outcome.TIMEOUT)
    decide(Outcome.RAISED)
    decide(Outcome.PASSED)
    reevaluation.refresh_from_db()
    why = f"evaluator 1 → {EVALUATOR_VERSION}"
    difference = differences([reevaluation])[reevaluation.pk]
    assert difference == Difference(3, [Change(slugs[0], "passed", "timed out")], [why], before="2/3", after="1/3")
    assert difference.text == f"{why}; 1 outcome changed ({slugs[0]} passed → timed out), 2/3 → 1/3"
    event = AuditEvent.objects.get(verb=Verb.REEVALUATED)
    assert (event.subject_id, event.reason) == (str(submission.pk), "A better evaluator.")
    assert event.data["changed"] == {slugs[0]: ["passed", "timed out"], "passed tasks": ["2 of 3", "1 of 3"]}


def test_weak_tests_are_left_out_of_the_numbers_as_on_the_board() -> None:
    submission = scored("passed", "passed", evaluator="1")
    weak = submission.suite_version.revisions.order_by("pk")[0]
    TaskRevision.objects.filter(pk=weak.pk).update(audit_state=AuditState.WEAK)
    reevaluation = start(submission)
    decide(Outcome.RAISED)
    decide(Outcome.PASSED)
    reevaluation.refresh_from_db()
    difference = differences([reevaluation])[reevaluation.pk]
    assert (difference.before, difference.after) == ("1/1", "1/1")
    metric = Entry.objects.get().metrics.get(category=None)
    assert (metric.tests_passed, metric.tasks) == (1.0, 1)


def test_a_submission_moves_to_a_version_with_equal_grading_without_a_run(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    submission = scored("passed")
    old = submission.suite_version.revisions.get()
    version = next_version(
        submission, grading_hash=old.grading_hash, equivalent_mutants=[{"mutant": "x", "reason": "y"}]
    )
    assert (planned(submission).runs, planned(submission).needed) == ((), True)
    with django_capture_on_commit_callbacks(execute=True):
        start(submission)
    submission.refresh_from_db()
    assert submission.suite_version == version
    assert Reevaluation.objects.get().state == ReevaluationState.APPLIED


@pytest.mark.both_databases
def test_one_reevaluation_at_a_time_and_only_as_planned() -> None:
    submission = scored("passed", evaluator="1")
    plan = planned(submission)
    start(submission)
    with pytest.raises(WrongStateError, match="being re-evaluated already"):
        reevaluating.start(planned=plan, reason="Again.", actor=None)
    other = scored("passed", evaluator="1")
    plan = planned(other)
    Submission.objects.filter(pk=other.pk).update(suite_version=submission.suite_version)
    with pytest.raises(WrongStateError, match="changed since this was planned"):
        reevaluating.start(planned=plan, reason="Again.", actor=None)


def test_only_maintainers_reevaluate_and_only_with_a_reason() -> None:
    submission = scored("passed", evaluator="1")
    stranger, maintainer = UserFactory(), UserFactory(is_staff=True)
    with pytest.raises(NotAllowedError):
        reevaluating.start(planned=planned(submission), reason="Because.", actor=stranger)
    with pytest.raises(NotAllowedError, match="Give a reason"):
        reevaluating.start(planned=planned(submission), reason=" ", actor=maintainer)
    with pytest.raises(NotAllowedError):
        reevaluating.new_epoch(suite=submission.suite_version.suite, actor=stranger)
    reevaluation = reevaluating.start(planned=planned(submission), reason="Because.", actor=maintainer)
    assert AuditEvent.objects.get(verb=Verb.REEVALUATING).actor == maintainer
    for act in (reevaluating.cancel, reevaluating.retry):
        with pytest.raises(NotAllowedError):
            act(reevaluation=reevaluation, actor=stranger)


def test_cancelling_keeps_the_old_results() -> None:
    submission = scored("passed", "passed", evaluator="1")
    reevaluation = start(submission)
    held = claims.claim_next(worker="w")
    assert held is not None
    reevaluating.cancel(reevaluation=reevaluation, actor=None)
    assert not leases.extend(TestRun, held.run_id, held.token)
    assert set(reevaluation.runs.values_list("state", flat=True)) == {RunState.CANCELLED}
    assert Attempt.objects.get().state == AttemptState.CANCELLED
    assert {run.evaluator_version for run in TestRun.objects.current()} == {"1"}
    submission.refresh_from_db()
    assert submission.state == SubmissionState.SCORED
    assert claims.claim_next(worker="w") is None
    with pytest.raises(WrongStateError, match="already ended"):
        reevaluating.cancel(reevaluation=reevaluation, actor=None)
    assert start(submission).state == ReevaluationState.RUNNING


def test_three_infrastructure_errors_hold_it_and_the_submission_stays_scored() -> None:
    submission = scored("passed", evaluator="1")
    reevaluation = start(submission)
    for _ in range(3):
        TestRun.objects.update(not_before=None)
        claim = claims.claim_next(worker="w")
        assert claim is not None
        results.record_infra(claim, reason="/srv/x is gone", public="the host failed")
    reevaluation.refresh_from_db()
    submission.refresh_from_db()
    assert (reevaluation.state, reevaluation.held_reason) == (ReevaluationState.HELD, "the host failed")
    assert (submission.state, submission.held_reason) == (SubmissionState.SCORED, "")
    assert reevaluating.retry(reevaluation=reevaluation, actor=UserFactory(is_staff=True)) == 1
    decide()
    reevaluation.refresh_from_db()
    assert reevaluation.state == ReevaluationState.APPLIED


def test_environments_are_never_mixed_within_a_reevaluation() -> None:
    submission = scored("passed", "passed", evaluator="1")
    reevaluation = start(submission)
    decide(digest="sha256:new")
    claim = claims.claim_next(worker="w")
    assert claim is not None
    verdict = Verdict(outcome=Outcome.PASSED, cases=(), log="", seconds=1)
    with pytest.raises(SandboxError, match="pinned to the environment new, and this worker offers"):
        results.accept(claim, verdict=verdict, environment="numpy", environment_digest="sha256:newer")
    assert TestRun.objects.get(pk=claim.run_id).state == RunState.RUNNING
    results.accept(claim, verdict=verdict, environment="numpy", environment_digest="sha256:new")
    submission.refresh_from_db()
    reevaluation.refresh_from_db()
    assert reevaluation.state == ReevaluationState.APPLIED
    assert submission.environment_digest == "sha256:new"


@pytest.mark.both_databases
def test_the_sweep_applies_a_finished_reevaluation(redis_url: str) -> None:
    submission = scored("passed", evaluator="1")
    reevaluation = start(submission)
    TestRun.objects.filter(reevaluation=reevaluation).update(state=RunState.DONE, outcome="raised")
    assert reevaluating.reevaluations_to_finalise() == [reevaluation.pk]
    reconcile()
    reevaluation.refresh_from_db()
    assert (reevaluation.state, reevaluating.reevaluations_to_finalise()) == (ReevaluationState.APPLIED, [])
    reevaluating.finalise_reevaluation(reevaluation.pk)
    assert AuditEvent.objects.filter(verb=Verb.REEVALUATED).count() == 1


def test_first_results_have_priority() -> None:
    submission = scored("passed", evaluator="1")
    start(submission)
    fresh = QueuedSubmissionFactory(owner=submission.owner, suite_version=SuiteVersionFactory(tasks=1))
    waiting = TestRunFactory(implementation=fresh.implementations.get())
    claim = claims.claim_next(worker="w")
    assert claim is not None
    assert claim.run_id == waiting.pk


def test_a_kept_run_pins_the_environment_too() -> None:
    submission = scored("passed", "passed")
    next_version(submission, grading_hash="f" * 64)
    start(submission)
    with pytest.raises(SandboxError, match="pinned to the environment"):
        decide(digest="sha256:other")


def test_new_tests_of_an_unchanged_repository_decide() -> None:
    submission = scored("passed", "passed")
    version = next_version(submission, grading_hash="f" * 64)
    reevaluation = start(submission)
    run = reevaluation.runs.get()
    new = version.revisions.get(number=2)
    assert (run.graded_revision, run.grading_hash) == (new, "f" * 64)
    decide(Outcome.RAISED)
    answers = submission.implementations.order_by("revision__task_id")
    assert {answer.revision for answer in answers} == set(version.revisions.all())
    (difference,) = differences(Reevaluation.objects.all()).values()
    assert difference.after == "1/2"
