"""Public answers to one task: selection, order and data of the rows, and the task's difficulty."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.enums import RunState
from evaluator.models import TestRun
from evaluator.outcomes import Outcome
from leaderboard.board.matrix import tasks_of
from leaderboard.evidence.task_answers import (
    TaskAnswer,
    TrialOutcome,
    answers_to,
    difficulty_of,
    in_order,
    task_answers,
)
from leaderboard.models import Entry
from leaderboard.statistics.intervals import wilson
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.leaderboard.factories import ReportedResultFactory, measured, measured_outcome, reported
from tests.leaderboard.freezing import two_tasks
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion, Task
    from leaderboard.board.matrix import MatrixTask

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    """The tasks a/1 and b/1; the tests read answers to b/1."""
    return two_tasks()


@pytest.fixture
def task(version: SuiteVersion) -> Task:
    found: Task = version.revisions.get(task__slug="b/1").task
    return found


@pytest.fixture
def place(version: SuiteVersion) -> MatrixTask:
    return next(each for each in tasks_of(version) if each.slug == "b/1")


def row(version: SuiteVersion, name: str, share: float | None, judge: str = "", human: str = "", **facts: Any) -> Entry:
    """A row with marks on b/1, and others on a/1."""
    entry = measured(version, system=SystemFactory(name=name), **facts)
    entry.marks = {"tests": [0.5, share], "judge": ["M", judge], "human": ["M", human]}
    entry.save()
    return entry


def names(entries: Any) -> list[str]:
    return [entry.system.name for entry in entries]


def test_only_public_rows_with_an_answer_are_listed(version: SuiteVersion, task: Task) -> None:
    row(version, "Ours", 1.0)
    row(version, "Secret", 1.0, published=False)
    measured(system=SystemFactory(name="Of another suite"))
    for name, on in (("Told", task), ("Told of the other task", version.revisions.get(task__slug="a/1").task)):
        ReportedResultFactory(run=reported(version, system=SystemFactory(name=name)).reported_run, task=on)
    assert sorted(names(answers_to(version, task))) == ["Ours", "Told"]


def test_the_order_by_each_column(version: SuiteVersion, task: Task, place: MatrixTask) -> None:
    for day, name, share, judge, human in (
        (3, "beta", 0.25, "LI", ""),
        (1, "Alpha", 1.0, "", "LC"),
        (2, "gamma", None, "CC", "CC"),
        (4, "Delta", 0.25, "LC", "LI"),
    ):
        entry = row(version, name, share, judge, human)
        Entry.objects.filter(pk=entry.pk).update(date=datetime(2026, 5, day, tzinfo=UTC))
    row(version, "A sample", 1.0, "CC", "CC", kind=Kind.CALIBRATION)

    def listed(sort: str, **hidden: Any) -> str:
        found = names(in_order(answers_to(version, task), place, sort, **hidden))
        assert found.pop() == "A sample", "samples are last"
        return " ".join(name[0].upper() for name in found)

    assert (listed("system"), listed("-system")) == ("A B D G", "G D B A")
    assert (listed("tests"), listed("-tests")) == ("B D A G", "A B D G")
    assert (listed("judge"), listed("-judge")) == ("G D B A", "B D G A")
    assert (listed("human"), listed("-human")) == ("G A D B", "D A G B")
    assert (listed("date"), listed("-date")) == ("A G B D", "D B G A")
    hidden = [Entry.objects.get(system__name="Alpha").submission_id]
    assert (listed("-tests", hidden=hidden), listed("-human", hidden=hidden)) == ("B D A G", "D G A B")
    assert listed("date", hidden=hidden) == "A G B D", "dates reveal no marks"


def answers_by_system(version: SuiteVersion, task: Task, place: MatrixTask, **hidden: Any) -> dict[str, TaskAnswer]:
    return {each.row.system: each for each in task_answers(answers_to(version, task), place, task, **hidden)}


def test_each_trial_has_its_newest_outcome_on_this_task(version: SuiteVersion, task: Task, place: MatrixTask) -> None:
    entry = row(version, "Ours", 0.5, "LC", "CC", trials=3)
    revision, other = version.revisions.get(task=task), version.revisions.get(task__slug="a/1")
    for trial, outcome in ((2, "passed"), (1, "raised")):
        measured_outcome(entry, outcome, trial=trial, revision=revision)
    waiting = measured_outcome(entry, "passed", trial=3, revision=revision)
    TestRun.objects.filter(pk=waiting.pk).update(state=RunState.QUEUED, outcome="")
    measured_outcome(entry, "timeout", revision=other)
    old = TestRun.objects.get(outcome="raised")
    TestRun.objects.create(
        implementation=old.implementation,
        evaluator_version="2",
        state=RunState.DONE,
        outcome="wrong_output",
        supersedes=old,
        supersedes_reason="The test was mended.",
    )
    found = answers_by_system(version, task, place)["Ours"]
    address = f"/submissions/{entry.submission_id}/answers/b/1/{{}}/"
    assert found.trials == (
        TrialOutcome(1, address.format(1), Outcome.WRONG_OUTPUT),
        TrialOutcome(2, address.format(2), Outcome.PASSED),
    )
    assert (found.passed, found.judge, found.human, found.reported) == (1, "LC", "CC", None)


def test_reported_results_are_returned_without_marks(version: SuiteVersion, task: Task, place: MatrixTask) -> None:
    entry = reported(version, system=SystemFactory(name="Told"))
    result = ReportedResultFactory(run=entry.reported_run, task=task, judge_label="LI", human_label="LC")
    found = answers_by_system(version, task, place)["Told"]
    assert (found.cell, found.judge, found.human, found.trials, found.passed) == (None, "LI", "LC", (), 0)
    assert found.reported == result


def test_a_held_submission_has_only_links_to_its_answers(version: SuiteVersion, task: Task, place: MatrixTask) -> None:
    entry = row(version, "In hand", 1.0, "CC", "CC")
    measured_outcome(entry, "passed", revision=version.revisions.get(task=task))
    found = answers_by_system(version, task, place, hidden=[entry.submission_id])["In hand"]
    assert (found.cell, found.judge, found.human, found.row.closed) == (None, "", "", True)
    assert len(found.trials) == 1


def test_difficulty_counts_ranked_rows_only(version: SuiteVersion, task: Task, place: MatrixTask) -> None:
    for number, (share, judge, human) in enumerate(
        [(1.0, "M", "CC"), (0.5, "A", "CC"), (0.0, "CC", ""), (None, "LI", "LI"), (0.0, "LI", "")]
    ):
        row(version, f"System {number}", share, judge, human)
    row(version, "A sample", 1.0, "CC", "CC", kind=Kind.CALIBRATION)
    row(version, "Gone", 1.0, "CC", "CC")
    Submission.objects.filter(entry__system__name="Gone").update(visibility=Visibility.WITHDRAWN)
    found = difficulty_of(answers_to(version, task), place)
    assert found.tests is not None
    low, high = wilson(1.5, 4)
    assert (found.tests.percent, found.tests.passed, found.tests.tasks) == (37.5, 1.5, 4)
    assert (found.tests.low, found.tests.high) == pytest.approx((100 * low, 100 * high))
    assert found.judge == (("CC", 1, 20.0), ("LI", 2, 40.0), ("A", 1, 20.0), ("M", 1, 20.0))
    assert found.human == (("CC", 2, pytest.approx(200 / 3)), ("LI", 1, pytest.approx(100 / 3)))


def test_answers_that_were_measured_again_count_once_in_all(
    version: SuiteVersion, task: Task, place: MatrixTask
) -> None:
    published = reported(version)
    again = reported(version, metric={"answered": 1}, system=published.system, remeasures=published.reported_run)
    for entry, share in ((published, 1.0), (again, 0.0)):
        entry.marks = {"tests": [None, share]}
        entry.save()
    row(version, "Ours", 0.5)
    ReportedResultFactory(run=published.reported_run, task=task)
    ReportedResultFactory(run=again.reported_run, task=task)
    found = difficulty_of(answers_to(version, task), place)
    cells = (found.tests, found.measured, found.reported)
    assert [(cell.passed, cell.tasks) if cell else None for cell in cells] == [(1.5, 2), (0.5, 2), (1.0, 1)]


def test_without_rows_the_difficulty_is_empty(version: SuiteVersion, task: Task, place: MatrixTask) -> None:
    found = difficulty_of(answers_to(version, task), place)
    assert (found.tests, found.judge, found.human) == (None, (), ())
