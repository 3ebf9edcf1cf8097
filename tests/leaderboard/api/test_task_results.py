"""Every answer to a task, and the task's difficulty, through the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.board.entries import recompute_submission
from leaderboard.statistics.intervals import wilson
from submissions.enums import Kind
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.factories import ReportedResultFactory, reported
from tests.leaderboard.judging import JudgeFactory, judged, show
from tests.leaderboard.showing import scored
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, SystemFactory, UserFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Implementation, User

pytestmark = pytest.mark.django_db


@pytest.fixture
def submission() -> Submission:
    """A published submission whose answer to the first task is wrong, and to the second right."""
    return scored(UserFactory(), "wrong_output", "passed", published=True)


def address_of(answer: Implementation, what: str = "results") -> str:
    task = answer.revision.task
    return f"/suites/{task.suite.slug}/tasks/{task.paper.slug}/{task.index}/{what}"


def test_results_of_other_tasks_are_hidden_from_annotators_of_the_submission(submission: Submission, bob: User) -> None:
    held, other = submission.implementations.order_by("revision_id")
    assigned(case_of(held), ready(user=bob))
    (row,) = Program().get(address_of(other))["items"]
    assert (row["outcomes"], row["passed"]) == (["passed"], True)
    # Together with the total, results of other tasks reveal the result of this one.
    (row,) = Program(bob).get(address_of(other))["items"]
    assert (row["outcomes"], row["passed"], row["judge_label"], row["annotators_label"]) == ([], None, "", "")
    assert Program(bob).problem("GET", address_of(held))["type"] == "/docs/api/#blind"
    assert Program(bob).problem("GET", address_of(held, "difficulty"))["type"] == "/docs/api/#blind"
    public, holder = (program.get(address_of(other, "difficulty"))["tests"] for program in (Program(), Program(bob)))
    assert ((public["passed"], public["tasks"]), holder) == ((1, 1), None)


ALPHA = "/suites/small/tasks/alpha/1"


def answering(version: SuiteVersion, name: str, *outcomes: str, **facts: Any) -> Submission:
    """A published submission that answers alpha/1 once for each of ``outcomes``."""
    facts = {"published": True, "trials": len(outcomes), **facts}
    sent: Submission = SubmissionFactory(system=SystemFactory(name=name), suite_version=version, **facts)
    revision = version.revisions.get(task__slug="alpha/1")
    for trial, outcome in enumerate(outcomes, start=1):
        answer = ImplementationFactory(submission=sent, revision=revision, trial=trial)
        TestRunFactory(implementation=answer, done=outcome)
    recompute_submission(sent.pk)
    return sent


def test_every_answer_has_the_data_of_the_page(small: SuiteVersion) -> None:
    judge = JudgeFactory()
    show(small.suite, judge)
    answering(small, "Golden", "passed", kind=Kind.CALIBRATION)
    solver = answering(small, "Solver", "passed", "wrong_output")
    for answer, label in zip(solver.implementations.order_by("trial"), ("CC", "LI"), strict=True):
        judged(answer, judge, label)
    recompute_submission(solver.pk)
    upstream = reported(small, system=SystemFactory(name="Agent"), slug="agent")
    task = small.revisions.get(task__slug="alpha/1").task
    facts = {"tests_passed": False, "tests_note": "Never ran.", "judge_label": "LC", "human_label": "LI"}
    ReportedResultFactory(run=upstream.reported_run, task=task, **facts)
    Submission.objects.filter(pk=answering(small, "Private", "passed").pk).update(visibility="private")
    Submission.objects.filter(pk=answering(small, "Gone", "passed").pk).update(visibility="withdrawn")
    found = {each["system"]: each for each in Program().get(f"{ALPHA}/results?sort=system")["items"]}
    assert list(found) == ["Agent", "Solver", "Golden"]
    assert {name: found["Solver"][name] for name in ("outcomes", "passed", "judge_label", "answers", "kind")} == {
        "outcomes": ["passed", "wrong_output"],
        "passed": False,
        "judge_label": "M",
        "answers": [f"/submissions/{solver.pk}/answers/alpha/1/{trial}/" for trial in (1, 2)],
        "kind": "ranked",
    }
    agent = found["Agent"]
    assert (agent["reported"], agent["outcomes"], agent["passed"], agent["tests_note"]) == (
        *(True, [], False, "Never ran."),
    )
    assert (agent["judge_label"], agent["annotators_label"], agent["key"]) == ("LC", "LI", "r-agent")
    assert (found["Golden"]["kind"], found["Golden"]["passed"]) == ("calibration", True)
    (last,) = Program().get(f"{ALPHA}/results?sort=-system&size=1&page=3")["items"]
    assert last["system"] == "Golden"
    assert Program().problem("GET", f"{ALPHA}/results?sort=secret")["status"] == 422


def test_an_earlier_version_has_its_own_answers(small: SuiteVersion) -> None:
    answering(small, "Before", "passed")
    later = SuiteVersionFactory(suite=small.suite, number=2, revisions=list(small.revisions.all()))
    answering(later, "After", "wrong_output")

    def names(query: str = "") -> list[str]:
        return [each["system"] for each in Program().get(f"{ALPHA}/results{query}")["items"]]

    assert (names(), names("?version=2"), names("?version=1")) == (["After"], ["After"], ["Before"])
    assert Program().get(f"{ALPHA}/difficulty?version=1")["tests"]["passed"] == 1
    assert Program().get(f"{ALPHA}/difficulty")["suite_version"] == 2


def test_difficulty_counts_ranked_public_rows(small: SuiteVersion) -> None:
    nothing: dict[str, Any] = {"tests": None, "measured": None, "reported": None, "judge": [], "annotators": []}
    assert Program().get(f"{ALPHA}/difficulty") == {"task": "alpha/1", "suite_version": 1, **nothing}
    judge = JudgeFactory()
    show(small.suite, judge)
    for name, outcome, label in (("A", "passed", "CC"), ("B", "passed", "CC"), ("C", "raised", "LI")):
        sent = answering(small, name, outcome)
        judged(sent.implementations.get(), judge, label)
        recompute_submission(sent.pk)
    answering(small, "Sample", "passed", kind=Kind.CALIBRATION)
    Submission.objects.filter(pk=answering(small, "Hidden", "passed").pk).update(visibility="hidden")
    response = Program().send("GET", f"{ALPHA}/difficulty")
    difficulty = response.json()
    low, high = wilson(2, 3)
    assert (difficulty["tests"]["passed"], difficulty["tests"]["tasks"], difficulty["tests"]["percent"]) == (
        2,
        3,
        66.6667,
    )
    assert (difficulty["tests"]["low"], difficulty["tests"]["high"]) == (round(100 * low, 4), round(100 * high, 4))
    assert difficulty["judge"] == [
        {"label": "CC", "rows": 2, "percent": 66.6667},
        {"label": "LI", "rows": 1, "percent": 33.3333},
    ]
    assert (difficulty["measured"], difficulty["reported"]) == (difficulty["tests"], None)
    assert difficulty["annotators"] == []
    again = Program().send("GET", f"{ALPHA}/difficulty", headers={"If-None-Match": response.headers["ETag"]})
    assert again.status_code == 304
    assert Program().problem("GET", "/suites/small/tasks/alpha/9/difficulty")["status"] == 404


def test_the_list_needs_the_same_queries_for_any_number_of_answers(small: SuiteVersion) -> None:
    counts = []
    for part in range(2):
        for number in range(3):
            answering(small, f"System {part} {number}", "passed")
        Program().get(f"{ALPHA}/results")
        with CaptureQueriesContext(connection) as queries:
            assert Program().get(f"{ALPHA}/results")["total"] == 3 * (part + 1)
        counts.append(len(queries))
    assert counts[0] == counts[1]
