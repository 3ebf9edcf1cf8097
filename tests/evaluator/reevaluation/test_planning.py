"""Plans of re-evaluations, and the reasons in them."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmark_tasks.enums import AuditState, Protocol
from benchmark_tasks.models import SeedEpoch, TaskRevision
from evaluator.models import TestRun
from evaluator.reevaluation import planning, reevaluating
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from submissions.exceptions import WrongStateError
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteVersionFactory, TaskFactory, TaskRevisionFactory
from tests.evaluator.factories import QueuedSubmissionFactory
from tests.evaluator.reevaluations import next_version, offered, planned, reasons, scored, start

pytestmark = pytest.mark.django_db


def test_current_results_need_no_reevaluation() -> None:
    submission = scored("passed", "raised", "not_attempted")
    plan = planned(submission)
    assert (plan.runs, plan.kept, plan.moves, plan.needed, plan.stale) == ((), 3, False, False, ())
    with pytest.raises(WrongStateError, match="no answers to measure again"):
        start(submission)


def test_another_evaluator_concerns_every_answer() -> None:
    submission = scored("passed", "not_attempted", evaluator="1")
    slugs = [revision.task.slug for revision in submission.suite_version.revisions.order_by("pk")]
    assert reasons(submission) == [(slug, f"evaluator 1 → {EVALUATOR_VERSION}") for slug in slugs]
    assert [run.outcome for run in planned(submission).runs] == ["", "not_attempted"]


def test_another_environment_concerns_runs_in_boxes() -> None:
    submission = scored("passed", "not_attempted")
    TestRun.objects.filter(outcome="passed").update(environment_digest="sha256:" + "b" * 64)
    assert [why for _, why in reasons(submission)] == [f"environment {'b' * 12} → {'a' * 12}"]
    TestRun.objects.filter(outcome="passed").update(environment="torch")
    assert [why for _, why in reasons(submission)] == ["environment torch → numpy"]


def test_new_grading_content_concerns_that_task() -> None:
    submission = scored("passed", "passed")
    version = next_version(submission, repository_hash="a" * 64, grading_hash="f" * 64)
    plan = planned(submission)
    assert [run.supersedes_reason for run in plan.runs] == ["new grading content"]
    assert (plan.target, plan.moves, plan.kept) == (version, True, 1)


def test_a_new_seed_epoch_concerns_every_task() -> None:
    submission = scored("passed", "passed")
    version = reevaluating.new_epoch(suite=submission.suite_version.suite, actor=None)
    assert (version.number, version.seed_epoch.number) == (2, 2)
    assert version.seed_epoch.key != SeedEpoch.objects.get(number=1).key
    assert set(version.revisions.all()) == set(submission.suite_version.revisions.all())
    assert version.changes == "New private seeds were drawn (seed epoch 2); no task changed."
    assert [why for _, why in reasons(submission)] == ["seed epoch 1 → 2"] * 2


def test_evaluator_5_measures_sealed_tasks_as_4_did_and_upstreams_tests_otherwise() -> None:
    submission = scored("passed", "raised", evaluator="4")
    assert reasons(submission) == []
    upstreams = submission.suite_version.revisions.order_by("pk")[0]
    TaskRevision.objects.filter(pk=upstreams.pk).update(protocol=Protocol.UPSTREAM)
    assert reasons(submission) == [(upstreams.task.slug, f"evaluator 4 → {EVALUATOR_VERSION}")]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"repository_hash": "b" * 64}, "has another masked repository"),
        ({"statement_hash": "b" * 64}, "has another statement"),
        ({"audit_state": AuditState.FAILED}, "cannot be run any more"),
    ],
)
def test_answers_to_a_changed_task_are_stale_and_the_submission_stays(changes: dict[str, str], text: str) -> None:
    submission = scored("passed", "passed", evaluator="1")
    first = submission.suite_version.revisions.order_by("pk")[0]
    next_version(submission, **{"grading_hash": "f" * 64, **changes})
    plan = planned(submission)
    assert plan.stale == (f"{first.task.slug} {text}",)
    assert (plan.target, plan.moves) == (submission.suite_version, False)
    # Its answers are still measured again for reasons within its own version.
    assert [run.supersedes_reason for run in plan.runs] == [f"evaluator 1 → {EVALUATOR_VERSION}"] * 2


@pytest.mark.both_databases
def test_only_scored_submissions_of_the_suite_or_with_the_task_are_candidates() -> None:
    submission = scored("passed")
    QueuedSubmissionFactory(suite_version=submission.suite_version)
    other = scored("passed")
    suite, task = submission.suite_version.suite, submission.implementations.get().revision.task
    full = f"{suite.slug}/{task.slug}"
    for in_suite, of_task in ((suite.slug, ""), ("", full), (suite.slug, task.slug)):
        assert list(planning.choose(suite=in_suite, task=of_task)[0]) == [submission]
    assert planning.choose(suite=suite.slug, task=task.slug)[1] == full
    assert list(planning.choose(submissions=[other.pk])[0]) == [other]


def test_a_plan_for_one_task_omits_submissions_that_it_does_not_concern() -> None:
    submission = scored("passed", "passed")
    next_version(submission, grading_hash="f" * 64)
    first, second = (revision.task.slug for revision in submission.suite_version.revisions.order_by("pk"))
    submissions = Submission.objects.all()
    assert len(planning.plan(submissions, offered=offered, task=f"any/{first}")) == 1
    assert planning.plan(submissions, offered=offered, task=f"any/{second}") == []


@pytest.mark.both_databases
def test_the_number_of_queries_does_not_grow() -> None:
    version = SuiteVersionFactory(tasks=2)
    counts = []
    for _ in range(2):
        scored("passed", "raised", evaluator="1", version=version)
        with CaptureQueriesContext(connection) as queries:
            planning.plan(Submission.objects.all(), offered=offered)
        counts.append(len(queries))
    assert counts == [6, 6]


def test_a_plan_has_a_fingerprint() -> None:
    submission = scored("passed", "raised", evaluator="1")
    first = planning.fingerprint([planned(submission)])
    assert planning.fingerprint([planned(submission)]) == first
    TestRun.objects.filter(outcome="raised").update(evaluator_version=EVALUATOR_VERSION)
    assert planning.fingerprint([planned(submission)]) != first


def test_new_and_removed_tasks_keep_a_submission_at_its_version() -> None:
    submission = scored("passed", "passed")
    suite = submission.suite_version.suite
    first, second = submission.suite_version.revisions.order_by("pk")
    added = TaskRevisionFactory(task=TaskFactory(suite=suite))
    SuiteVersionFactory(suite=suite, number=2, seed_epoch=submission.suite_version.seed_epoch, revisions=[first, added])
    assert planned(submission).stale == (f"{second.task.slug} has left the suite", f"{added.task.slug} is new")
