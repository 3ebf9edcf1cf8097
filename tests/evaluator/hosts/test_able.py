"""Which runs a host takes, and what the others wait for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from benchmark_tasks.models import TaskRevision
from evaluator import jobs
from evaluator.enums import RunState
from evaluator.hosts.able import NO_HOST, able, note_unable, waits_for_another_host
from evaluator.hosts.rows import own
from evaluator.models import Host, TestRun
from evaluator.queue import pushing
from evaluator.testing.claims import claim_next
from evaluator.testing.results import record_infra
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.evaluator.factories import TestRunFactory
from tests.submissions.factories import ImplementationFactory, SubmissionFactory

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries, Settings

    from submissions.models import Submission

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NUMPY, TORCH = {"numpy": "sha256:n"}, {"torch": "sha256:t"}


@pytest.fixture
def submission() -> Submission:
    """A submission to a suite whose first task needs numpy, and whose second needs torch."""
    version = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=2)
    for revision, name in zip(version.revisions.order_by("pk"), ("numpy", "torch"), strict=True):
        TaskRevision.objects.filter(pk=revision.pk).update(environment=name)
    made: Submission = SubmissionFactory(suite_version=version)
    return made


def waiting(submission: Submission, name: str, *, trial: int = 1, **facts: Any) -> TestRun:
    """A run that waits, of the task that needs the environment ``name``."""
    revision = submission.suite_version.revisions.get(environment=name)
    answer = ImplementationFactory(submission=submission, revision=revision, trial=trial)
    made: TestRun = TestRunFactory(implementation=answer, **facts)
    return made


def host(name: str, environments: dict[str, str], **facts: Any) -> Host:
    facts = {"pools": ["tests"], "seen": timezone.now(), **facts}
    return Host.objects.create(name=name, environments=environments, **facts)


@pytest.fixture(autouse=True)
def _here(settings: Settings) -> None:
    """The tests run on the host ``here``."""
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, host_name="here")


def taken() -> set[TestRun]:
    return set(able(TestRun.objects.filter(state=RunState.QUEUED)))


def test_a_host_takes_only_runs_whose_environment_it_has(submission: Submission) -> None:
    numpy, torch = waiting(submission, "numpy"), waiting(submission, "torch")
    host("here", NUMPY)
    host("there", TORCH)
    assert taken() == {numpy}
    Host.objects.filter(name="here").update(environments=NUMPY | TORCH)
    assert taken() == {numpy, torch}
    Host.objects.filter(name="here").update(environments={})
    assert taken() == set()
    assert claim_next(worker="here:1") is None
    # A process that works for one submission tries everything, so that it ends with a reason.
    assert claim_next(worker="here:1", submission_id=submission.pk) is not None


def test_a_host_with_a_problem_leaves_its_runs_to_others(submission: Submission) -> None:
    numpy = waiting(submission, "numpy")
    host("here", NUMPY)
    there = host("there", NUMPY)
    claim = claim_next(worker="here:1")
    assert claim is not None
    record_infra(claim, reason="/srv/x is full", public="the host's disk is full", everywhere=True)
    numpy.refresh_from_db()
    assert (numpy.state, numpy.reason, numpy.not_before) == (RunState.QUEUED, "waiting: the host's disk is full", None)
    assert (own().problem, taken(), waits_for_another_host()) == ("the host's disk is full", set(), True)
    # With no other host left, this one tries again, and the run waits longer each time.
    there.delete()
    assert taken() == {numpy}
    claim = claim_next(worker="here:1")
    assert claim is not None
    record_infra(claim, reason="/srv/x is full", public="the host's disk is full", everywhere=True)
    numpy.refresh_from_db()
    assert numpy.not_before > timezone.now()


@pytest.mark.parametrize(
    "other",
    [{}, {"pools": ["model_calls", "site"]}, {"problem": "no box"}, {"seen": timezone.now() - timedelta(minutes=2)}],
    ids=["none", "without tests", "without boxes", "silent"],
)
def test_the_only_host_takes_everything(submission: Submission, other: dict[str, Any]) -> None:
    """Otherwise its runs would wait in silence: a run whose environment is lacking then gets the reason."""
    torch = waiting(submission, "torch")
    host("here", NUMPY)
    if other:
        host("there", TORCH, **other)
    assert taken() == {torch}
    assert (note_unable(), waits_for_another_host()) == (0, False)


def test_a_host_that_has_not_reported_takes_everything(submission: Submission) -> None:
    torch = waiting(submission, "torch")
    host("there", NUMPY)
    assert taken() == {torch}


def test_a_submission_goes_on_in_the_environment_that_it_began_in(submission: Submission) -> None:
    waiting(submission, "numpy", done="passed", environment="numpy", environment_digest="sha256:older")
    rest = waiting(submission, "numpy", trial=2)
    fresh = waiting(SubmissionFactory(suite_version=submission.suite_version), "numpy")
    host("here", NUMPY)
    host("there", {"numpy": "sha256:older"})
    assert taken() == {fresh}
    Host.objects.filter(name="here").update(environments={"numpy": "sha256:older"})
    assert taken() == {rest, fresh}


def test_runs_that_no_live_host_can_take_say_so(submission: Submission) -> None:
    numpy, torch = waiting(submission, "numpy"), waiting(submission, "torch")
    host("here", NUMPY)
    host("there", NUMPY)
    gone = host("gone", TORCH, seen=timezone.now() - timedelta(minutes=2))
    assert note_unable() == 1
    for run in (numpy, torch):
        run.refresh_from_db()
    assert (numpy.reason, torch.reason, torch.state) == ("", NO_HOST, RunState.QUEUED)
    Host.objects.filter(pk=gone.pk).update(seen=timezone.now())
    assert note_unable() == 0
    torch.refresh_from_db()
    assert torch.reason == ""


def test_a_task_without_any_environment_is_taken_to_say_so(submission: Submission) -> None:
    run = waiting(submission, "torch")
    TaskRevision.objects.filter(environment="torch").update(environment="")
    host("here", NUMPY)
    host("there", NUMPY)
    assert taken() == {run}


@pytest.mark.redis
def test_a_job_for_another_host_goes_back_into_the_queue(
    submission: Submission, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(submission, "torch")
    host("here", NUMPY)
    host("there", TORCH)
    slept: list[float] = []
    monkeypatch.setattr("evaluator.jobs.time.sleep", slept.append)
    jobs.evaluate_next()
    with pushing.opened() as queue:
        assert ([job.func_name for job in queue.jobs], slept) == (["evaluator.jobs.evaluate_next"], [2.0])
    TestRun.objects.update(state=RunState.CANCELLED)
    jobs.evaluate_next()
    with pushing.opened() as queue:
        assert (len(queue), slept) == (1, [2.0])


def test_queries_do_not_grow_with_the_runs(
    submission: Submission, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    host("here", NUMPY | TORCH)
    host("there", NUMPY)
    for trial in (1, 2, 3):
        waiting(submission, "numpy", trial=trial)
        waiting(submission, "torch", trial=trial)
    with django_assert_num_queries(3):
        assert len(taken()) == 6
