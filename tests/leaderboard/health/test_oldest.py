"""The maintainers' table: the oldest in each state, since when, why, and what mends it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluator import waiting
from evaluator.enums import WorkState
from evaluator.hosts.able import NO_HOST
from evaluator.models import AnswerRequest, Judgement, TestRun
from evaluator.queue.pushing import MODELS, RUNS
from leaderboard.health.inbox import inbox
from leaderboard.health.oldest import oldest_in_each_state
from leaderboard.health.queues import queue_state
from submissions.enums import SubmissionState
from submissions.models import Submission, Upload
from tests.benchmark_tasks.factories import SuiteFactory, TaskFactory, TaskRevisionFactory
from tests.evaluator.factories import QueuedSubmissionFactory, runs_of
from tests.leaderboard.endpoint_runs import endpoint_run
from tests.leaderboard.judging import JudgeFactory
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, UploadFactory, UserFactory

if TYPE_CHECKING:
    from leaderboard.health.inbox import Line

pytestmark = pytest.mark.django_db

MOVES = "Nothing: workers are running. If it does not move, read their logs."


@pytest.fixture(autouse=True)
def two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "listening", lambda: {RUNS: 2, MODELS: 2})


def oldest(*, hidden: tuple[int, ...] = (), **queue: Any) -> dict[str, Line]:
    """The table while two workers of each kind listen, unless ``queue`` has other facts."""
    state = replace(queue_state(), **{"registered": 2, "model_workers": 2, **queue})
    return {row.state: row.line for row in oldest_in_each_state(inbox(state, hidden=hidden), state)}


def test_is_empty_while_nothing_waits() -> None:
    SubmissionFactory(state=SubmissionState.SCORED)
    assert oldest() == {}


def test_the_oldest_upload_with_its_check() -> None:
    first, second = UploadFactory(checked=False), UploadFactory(checked=False)
    Upload.objects.filter(pk=second.pk).update(created=timezone.now() - timedelta(hours=1))
    line = oldest()["uploads being checked"]
    assert (line.title, line.reason) == (f"Upload {second.pk} by {second.owner.username}", "Waits for a free worker.")
    assert (line.todo, line.command) == (MOVES, "")
    Upload.objects.filter(pk=second.pk).update(checking_since=timezone.now(), tries=2)
    assert oldest()["uploads being checked"].reason == "Being checked, try 2."
    Upload.objects.filter(pk=second.pk).update(checking_since=None)
    line = oldest(registered=0)["uploads being checked"]
    assert (line.reason, line.command) == ("An infrastructure error ended 2 of its checks.", "make run")
    Upload.objects.filter(pk=second.pk).update(checked=True)
    assert oldest()["uploads being checked"].title.startswith(f"Upload {first.pk} by")


def test_the_oldest_question_and_test_with_what_their_submissions_wait_for() -> None:
    generation = endpoint_run(UserFactory(), WorkState.DONE, WorkState.QUEUED)
    AnswerRequest.objects.filter(state=WorkState.DONE).update(seconds=90.0)
    old = QueuedSubmissionFactory()
    runs_of(old)
    old.implementations.update(attempted=True)
    TestRun.objects.update(created=timezone.now() - timedelta(days=1))
    runs_of(QueuedSubmissionFactory())
    found = oldest()
    asked, tested = found["questions to models"], found["tests"]
    number = generation.submission_id
    assert (asked.title, asked.address) == (f"Submission {number}", f"/submissions/{number}/")
    assert asked.reason.endswith("1 of 2 arrived. Expected end: about 2 minutes.")
    assert (tested.title, tested.todo) == (f"Submission {old.pk}", MOVES)
    assert tested.reason.startswith("0 of 2 tests done. The next one waits for a free worker.")
    assert timezone.now() - tested.since > timedelta(hours=23)
    without = oldest(registered=0, model_workers=None)
    assert [without[state].command for state in ("questions to models", "tests")] == ["make run"] * 2


def test_a_test_of_a_re_evaluation_has_its_own_reason() -> None:
    submission = QueuedSubmissionFactory(state=SubmissionState.SCORED)
    runs_of(submission)
    TestRun.objects.update(reason="the disk is full")
    line = oldest()["tests"]
    assert (line.title, line.reason) == (f"Re-evaluation of submission {submission.pk}", "the disk is full")
    assert line.todo == "Correct what stopped it; the errors are listed below. It is tried again by itself."
    Submission.objects.update(state=SubmissionState.QUEUED)
    TestRun.objects.update(reason=NO_HOST)
    assert oldest()["tests"].command == "manage.py doctor"


def test_the_oldest_judgement_with_its_command() -> None:
    judge = JudgeFactory(slug="careful")
    answer = ImplementationFactory()
    Judgement.objects.create(config=judge, implementation=answer, state=WorkState.QUEUED)
    line = oldest()["judgements"]
    assert (line.title, line.reason) == (f"Submission {answer.submission_id} by {judge.name}", "queued")
    assert (line.todo, line.command) == (MOVES, "")
    Judgement.objects.update(state=WorkState.HELD, reason="no key")
    line = oldest()["judgements"]
    assert (line.reason, line.command) == ("held: no key", "manage.py judge --pending --config careful --retry-held")


def test_what_needs_a_maintainer_comes_from_the_inbox() -> None:
    newer, older = (SubmissionFactory(state=SubmissionState.HELD, held_reason="No image.") for _ in range(2))
    type(older).objects.filter(pk=older.pk).update(created=timezone.now() - timedelta(days=2))
    TaskRevisionFactory(task=TaskFactory(suite=SuiteFactory(slug="fresh")))
    found = oldest()
    assert found["held submissions"].retry == older.pk
    assert found["held submissions"].reason == "No image."
    assert newer.pk != older.pk


@pytest.mark.parametrize("number", [1, 3])
def test_queries_do_not_grow(number: int) -> None:
    judge = JudgeFactory()
    for _ in range(number):
        UploadFactory(checked=False)
        endpoint_run(UserFactory(), WorkState.QUEUED)
        runs_of(QueuedSubmissionFactory())
        Judgement.objects.create(config=judge, implementation=ImplementationFactory())
    state = queue_state()
    found = inbox(state, hidden=())
    with CaptureQueriesContext(connection) as queries:
        assert len(oldest_in_each_state(found, state)) == 4
    assert len(queries) == 11
