"""A suite with one of everything that tells how single answers were rated, for the tests of closing it."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.models import TaskRevision
from evaluator.enums import ReevaluationState
from evaluator.models import Reevaluation, TestRun
from leaderboard.board.entries import recompute_reported, recompute_submission
from leaderboard.models import ReportedRun
from reviews.enums import CaseState, FinalSource
from submissions.domain.audit import record
from submissions.enums import Verb
from submissions.models import Submission
from submissions.trajectories.steps import Action
from tests.benchmark_tasks.factories import CategoryFactory
from tests.leaderboard.asked import CHAT_REQUEST, asked, called
from tests.leaderboard.factories import ReportedResultFactory, reported
from tests.leaderboard.judging import JudgeFactory, judged, show, walked
from tests.leaderboard.showing import scored
from tests.reviews.factories import answers, assigned, case_of, decided, ready
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import Suite
    from reviews.models import Case, Reviewer
    from submissions.models import Implementation

FORBIDDEN = HTTPStatus.FORBIDDEN


@dataclass(frozen=True, slots=True)
class Page:
    """An address, a text on it that tells what was said of single answers, and the status when it is closed."""

    address: str
    marker: str
    status: int = HTTPStatus.OK
    for_maintainers: bool = False


@dataclass(frozen=True, slots=True)
class World:
    """The suite, one more answer of it that waits to be labelled, and its ``pages`` by name."""

    suite: Suite
    waiting: Case
    asked_waiting: Case
    settled: Case
    measured: Submission
    pages: dict[str, Page] = field(default_factory=dict)

    def hold(self, reviewer: Reviewer) -> None:
        """Have ``reviewer`` label an answer of the suite, and one of the suite of what a model was asked for."""
        assigned(self.waiting, reviewer)
        assigned(self.asked_waiting, reviewer)


def world() -> World:
    """Everything that is public is published; what is for maintainers is on their own pages."""
    owner = UserFactory()
    submission = scored(owner, "wrong_output", "passed", published=True)
    answer, other = submission.implementations.order_by("revision_id")
    suite = submission.suite_version.suite
    old, new = JudgeFactory(), JudgeFactory()
    show(suite, old)
    judged(answer, old, "CC")
    judged(answer, new, "LI")
    walked(answer, Action.MESSAGE, thought="a marked thought")
    TaskRevision.objects.filter(pk=answer.revision_id).update(category=CategoryFactory(slug="evaluation-metrics"))
    submission.bundle.save("answers.jsonl", ContentFile(b'{"marked": "bundle"}'))
    _measured_again(submission)
    recompute_submission(submission.pk)
    settled = case_of(other, state=CaseState.FINAL, label="LI", source=FinalSource.DECISION, settled=timezone.now())
    decided(settled, ready(adjudicator=True), "LI", note="A marked note of the decision.")
    run = _reported(submission)
    waiting = case_of(answers(suite_version=submission.suite_version)[0], state=CaseState.LEASED)
    question, asked_pages = _asked()
    made = World(suite, waiting, case_of(question, state=CaseState.LEASED), settled, submission)
    made.pages.update(_own_pages(answer, submission, settled, new.slug) | _reported_pages(answer, run) | asked_pages)
    return made


def _own_pages(answer: Implementation, submission: Submission, settled: Case, judge: str) -> dict[str, Page]:
    task, suite = answer.revision.task, submission.suite_version.suite
    named = [submission.pk, task.paper.slug, task.index, answer.trial]
    run = TestRun.objects.get(implementation=answer)
    one, at = answer.get_absolute_url(), [submission.pk]
    listed = f'href="{one}"'
    compared = reverse("judge_differences", args=[judge]) + f"?suite={suite.slug}"
    cell = "?first=tests&second=judge:" + judge
    return {
        "implementation": Page(one, "because wrong_output", FORBIDDEN),
        "run": Page(f"{one}?run={run.pk}", "because wrong_output", FORBIDDEN),
        "trajectory": Page(reverse("trajectory", args=named), "a marked thought", FORBIDDEN),
        "trajectory_json": Page(reverse("trajectory_json", args=named), "a marked thought", FORBIDDEN),
        "submission": Page(submission.get_absolute_url(), "because wrong_output"),
        "total": Page(submission.get_absolute_url(), "1 of 2 tasks pass"),
        "reevaluated": Page(submission.get_absolute_url(), "<ins>a marked outcome</ins>"),
        "traced": Page(submission.get_absolute_url(), "<ins>a traced outcome</ins>"),
        "progress": Page(reverse("submission_progress", args=at), "because wrong_output"),
        "bundle": Page(reverse("submission_bundle", args=at), "marked", FORBIDDEN, for_maintainers=True),
        "cell": Page(reverse("agreement", args=[suite.slug]) + f"{cell}&binary=1&cell=rest,rest", listed, FORBIDDEN),
        "cases": Page(reverse("cases"), f'href="{settled.get_absolute_url()}"'),
        "case": Page(settled.get_absolute_url(), "A marked note of the decision.", FORBIDDEN),
        "judge_differences": Page(compared, f"{one}#judges"),
        "judge_matrix": Page(compared, "Labels before and after"),
        "judge_counts": Page(compared, "judged by both"),
        "judge_places": Page(compared, "By the share of all tasks labelled CC"),
        "reevaluate": Page(reverse("reevaluate"), "a marked outcome", for_maintainers=True),
        "task": Page(task.get_absolute_url(), listed),
    } | _numbers_pages(submission)


def _numbers_pages(submission: Submission) -> dict[str, Page]:
    """Numbers of one category, which are of one answer here, and of a suite of two tasks."""
    board = reverse("board", args=[submission.suite_version.suite.slug])
    system = reverse("system", args=[submission.system.slug])
    one_task, two_tasks = "0 of 1 tasks", "1 of 2 tasks"
    return {
        "category": Page(f"{board}?category=evaluation-metrics", one_task, FORBIDDEN),
        "front": Page(f"{reverse('board_default')}?category=evaluation-metrics", one_task, FORBIDDEN),
        "few_tasks": Page(board, two_tasks),
        "system": Page(system, two_tasks),
        "system_categories": Page(system, "By category"),
        "actions": Page(reverse("submission_actions", args=[submission.pk]), "those that did not", FORBIDDEN),
        "board_actions": Page(f"{board}actions/", "those that did not", FORBIDDEN),
    }


def _measured_again(submission: Submission) -> None:
    task = submission.implementations.first().revision.task.slug
    change = {"task": task, "trial": 1, "before": "passed", "after": "a marked outcome", "why": "new seeds"}
    version = submission.suite_version
    Reevaluation.objects.create(
        submission=submission,
        from_version=version,
        to_version=version,
        reason="new seeds",
        state=ReevaluationState.APPLIED,
        ended=timezone.now(),
        difference={"tasks": [change], "row": {}},
    )
    changed = {"changed": {task: ["passed", "a traced outcome"]}}
    record(verb=Verb.REEVALUATED, subject=submission, actor=None, reason="new seeds", data=changed)


def _reported(submission: Submission) -> ReportedRun:
    run = reported(submission.suite_version).reported_run
    assert run is not None
    facts = {
        "judge_label": "CC",
        "human_label": "LI",
        "tests_note": "a marked remark",
        "human_comment": "a marked word",
    }
    ReportedResultFactory(run=run, task=submission.implementations.first().revision.task, **facts)
    recompute_reported(run, submission.suite_version)
    return run


def _reported_pages(answer: Implementation, run: ReportedRun) -> dict[str, Page]:
    task = answer.revision.task
    one = reverse("reported_case", args=[run.slug, task.paper.slug, task.index])
    return {
        "reported_run": Page(reverse("reported_run", args=[run.slug]), "a marked remark"),
        "reported_categories": Page(reverse("reported_run", args=[run.slug]), "Counted per category"),
        "reported_totals": Page(reverse("reported_run", args=[run.slug]), "1 of 2 tasks"),
        "reported_confusion": Page(reverse("reported_run", args=[run.slug]), "Judge against humans"),
        "reported_case": Page(one, "a marked word", FORBIDDEN),
        "reported_cases": Page(reverse("cases") + "?what=reported", f'href="{one}"'),
    }


def _asked() -> tuple[Implementation, dict[str, Page]]:
    """A published run on an endpoint, which has a suite of its own, and the pages of what was asked in it."""
    run = asked(UserFactory(), "done", state="done")
    question = run.requests.get()
    messages = [{"role": "user", "content": "a marked question"}]
    call = called(question, request={**CHAT_REQUEST, "messages": messages})
    Submission.objects.filter(pk=run.submission_id).update(visibility="published", state="scored", code_licence="MIT")
    answer = question.implementation
    task = answer.revision.task
    named: list[Any] = [run.submission_id, task.paper.slug, task.index, answer.trial]
    one = reverse("model_call", args=[run.submission_id, call.pk])
    return answer, {
        "answer_calls": Page(reverse("answer_calls", args=named), f'href="{one}"', FORBIDDEN),
        "model_call": Page(one, "a marked question", FORBIDDEN),
        "raw_call": Page(f"{one}?raw=request", "a marked question", FORBIDDEN),
    }
