"""The maintainers' inbox: a line for everything that waits, oldest first, with what to do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.utils import timezone

from benchmark_tasks.domain import content, garbage
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SeedEpoch
from evaluator.enums import ReevaluationState, RunState, WorkState
from evaluator.models import Host, Judgement, Reevaluation, TestRun
from leaderboard.health import inbox as boxes
from leaderboard.health.inbox import inbox
from leaderboard.health.queues import queue_state
from reviews.cases.flags import flag_task, lift
from reviews.enums import CaseState, TriggerKind
from reviews.models import Trigger
from submissions.enums import SubmissionState
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory, TaskFactory, TaskRevisionFactory
from tests.evaluator.factories import TestRunFactory
from tests.evaluator.reevaluations import scored, start
from tests.leaderboard.judging import JudgeFactory
from tests.reviews.factories import ReviewerFactory, answers, case_of, decided
from tests.submissions.factories import SubmissionFactory, UploadFactory

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

    from leaderboard.health.inbox import Line
    from submissions.models import User

pytestmark = pytest.mark.django_db


def lines(*, hidden: tuple[int, ...] = (), **queue: Any) -> list[Line]:
    """The inbox while two workers of each kind listen, unless ``queue`` has other facts."""
    state = replace(queue_state(), **{"registered": 2, "model_workers": 2, **queue})
    return inbox(state, hidden=hidden).lines


def titles(**facts: Any) -> list[str]:
    return [f"{line.kind} {line.title}" for line in lines(**facts)]


def held(name: str, *, days: int = 0) -> Submission:
    made: Submission = SubmissionFactory(
        system__name=name, owner__username=f"{name}-owner", state=SubmissionState.HELD, held_reason="No image."
    )
    Submission.objects.filter(pk=made.pk).update(created=timezone.now() - timedelta(days=days))
    return made


def test_is_empty_while_nothing_waits() -> None:
    SubmissionFactory(state=SubmissionState.RUNNING)
    SuiteVersionFactory(tasks=1)
    assert lines() == []


def test_a_store_of_another_instance_is_named(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    cache.clear()
    SeedEpoch.objects.create(suite=SuiteFactory(), number=1)
    garbage.sweep_when_due()
    assert lines() == []
    cache.delete("content-swept")
    SeedEpoch.objects.update(key="another instance")
    garbage.sweep_when_due()
    (line,) = lines()
    assert (line.title, line.command) == ("Unused files are not removed", "manage.py storage")
    assert line.reason.startswith("The content store belongs to another instance's database")
    cache.clear()


def test_hosts_that_are_silent_or_without_boxes_are_listed() -> None:
    now = timezone.now()
    Host.objects.create(name="well", seen=now)
    Host.objects.create(name="silent", seen=now - timedelta(minutes=3), problem="no box either")
    Host.objects.create(name="boxless", seen=now, problem="no bwrap")
    silent, boxless = lines()
    assert (silent.kind, silent.title, silent.command) == ("stuck", "Host silent is silent", "")
    assert (boxless.title, boxless.command, boxless.reason) == (
        "Host boxless cannot run boxes",
        "manage.py doctor",
        "no bwrap",
    )


def test_missing_files_are_listed_until_they_are_back() -> None:
    submission = SubmissionFactory(state=SubmissionState.RUNNING)
    submission.bundle.save("x", ContentFile(b"a bundle"))
    name = str(submission.bundle)
    content.remove("files", name)
    garbage.compare()
    (line,) = lines()
    assert (line.kind, line.title, line.command) == ("stuck", "1 stored file missing", "manage.py storage")
    assert line.reason == f"Submission.bundle: files/{name}"
    content.put_file(b"a bundle")
    garbage.compare()
    assert lines() == []


def test_held_submissions_come_oldest_first_with_what_stopped_them() -> None:
    newer, older = held("Newer", days=1), held("Older", days=3)
    found = lines()
    assert [line.title for line in found] == [
        f"Submission {older.pk}: Older on {older.suite_version} by Older-owner",
        f"Submission {newer.pk}: Newer on {newer.suite_version} by Newer-owner",
    ]
    assert (found[0].retry, found[0].reason, found[0].address) == (older.pk, "No image.", f"/submissions/{older.pk}/")
    assert inbox(queue_state(), hidden=()).kinds[-1] == "2 held"


def test_a_held_reevaluation_has_its_own_error_and_is_not_retried_as_a_submission() -> None:
    made = start(scored("passed", evaluator="1"))
    made.runs.update(state=RunState.HELD)
    Reevaluation.objects.update(state=ReevaluationState.HELD, held_reason="the host failed")
    (line,) = lines()
    assert line.title.startswith(f"Re-evaluation of submission {made.submission_id}: ")
    assert (line.reason, line.retry, line.where) == ("the host failed", 0, "/maintain/reevaluate/#under-way")
    made.runs.get().attempts.create(number=1, token="0" * 32, worker="w", state="infra", reason="/srv/x is full")
    assert lines()[0].reason == "/srv/x is full"


def test_flags_are_listed_until_they_are_lifted(maintainer: User) -> None:
    answer = answers()[0]
    (flag,) = flag_task(decided(case_of(answer), ReviewerFactory(adjudicator=True), "CC", reasons=["bad_test"]))
    (line,) = lines()
    task = answer.revision.task
    assert (line.kind, line.title) == ("flagged", f"Task {task.slug} of {task.suite.title}: bad test")
    assert line.address == task.get_absolute_url()
    lift(actor=maintainer, flag=flag, reason="The test was corrected.")
    assert lines() == []


def test_appeals_are_listed_until_they_are_decided_and_not_to_who_labels_the_submission() -> None:
    for state in CaseState:
        Trigger.objects.create(case=case_of(state=state), kind=TriggerKind.APPEAL)
    Trigger.objects.create(case=case_of(), kind=TriggerKind.AUDIT)
    shown = [line for line in lines() if line.kind == "appealed"]
    open_states = set(CaseState) - {CaseState.AGREED, CaseState.FINAL, CaseState.REOPENED, CaseState.VOID}
    assert len(shown) == len(open_states) == 6
    case = Trigger.objects.filter(case__state=CaseState.QUEUED, kind=TriggerKind.APPEAL).get().case
    answer = case.implementation
    assert answer.get_absolute_url() in [line.address for line in shown]
    assert len(lines(hidden=(answer.submission_id,))) == 5


def test_a_suite_s_unaudited_tasks_are_one_line_with_the_command() -> None:
    suite = SuiteFactory(slug="small", title="Small")
    old = TaskRevisionFactory(task=TaskFactory(suite=suite), audit_state=AuditState.UNAUDITED)
    SuiteVersionFactory(suite=suite, revisions=[old])
    waiting = [TaskRevisionFactory(task=TaskFactory(suite=suite), audit_state=AuditState.UNAUDITED) for _ in range(2)]
    facts = TaskRevisionFactory(
        task=TaskFactory(suite=suite), audit_state=AuditState.UNAUDITED, not_runnable_reasons=["no code"]
    )
    SuiteVersionFactory(suite=suite, number=2, revisions=[*waiting, facts])
    (line,) = lines()
    assert (line.title, line.command) == ("2 tasks of Small without an audit", "manage.py audit_tasks --suite small")
    assert (line.todo, line.reason) == ("A worker audits them while no answer waits; or run:", "")
    waiting[0].audit = {"obstacle": "no sandbox"}
    waiting[0].save()
    (line,) = lines()
    assert (line.todo, line.reason) == ("Correct what stopped it, then:", "no sandbox")


def test_work_without_a_worker_is_stuck() -> None:
    assert titles(registered=0, model_workers=0) == []
    run = TestRunFactory()
    assert titles() == []
    assert titles(registered=0) == ["stuck 1 test run without a worker that listens"]
    assert titles(registered=None) == ["stuck The queue's server does not answer"]
    TestRun.objects.filter(pk=run.pk).update(created=timezone.now() - timedelta(minutes=4))
    assert titles() == ["stuck 1 test run, and none is under way"]
    Judgement.objects.create(implementation=answers()[0], config=JudgeFactory())
    assert titles(running=1, model_workers=0) == ["stuck 1 request to models without a worker that listens"]


def test_held_judgements_and_checks_that_do_not_end_are_stuck() -> None:
    judge = JudgeFactory(name="Stern", slug="stern")
    for answer in answers(2):
        Judgement.objects.create(implementation=answer, config=judge, state=WorkState.HELD)
    (line,) = lines()
    assert (line.title, line.address) == ("2 held judgements of Stern", "/judges/stern/")
    assert line.command == "manage.py judge --pending --config stern --retry-held"
    Judgement.objects.all().delete()
    upload = UploadFactory(checked=False)
    assert titles() == []
    type(upload).objects.filter(pk=upload.pk).update(created=timezone.now() - timedelta(minutes=11))
    assert titles() == ["stuck 1 upload whose check does not end"]


def test_the_oldest_lines_of_a_kind_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "MOST_LINES", 2)
    for days in (1, 3, 2):
        held(f"Held {days}", days=days)
    found = inbox(replace(queue_state(), registered=1), hidden=())
    assert [line.title.split(":")[1].split(" on ")[0] for line in found.lines] == [" Held 3", " Held 2"]
    assert found.more
