"""Suites, tasks, kits and papers through the API."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import Paper, TaskRevision
from reviews.cases.flags import flag_task
from reviews.models import TaskFlag
from tests.benchmark_tasks.factories import SuiteFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.factories import measured, measured_outcome
from tests.reviews.factories import ReviewerFactory, case_of, decided
from tests.submissions.factories import ImplementationFactory, SubmissionFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db


def test_suites_show_whether_they_take_answers(small: SuiteVersion) -> None:
    SuiteFactory(slug="empty", title="Empty", position=1000)
    suites = {each["suite"]: each for each in Program().get("/suites")["items"]}
    assert (suites["small"]["version"], suites["small"]["tasks"], suites["small"]["takes_answers"]) == (1, 2, True)
    assert (suites["empty"]["version"], suites["empty"]["tasks"], suites["empty"]["takes_answers"]) == (None, 0, False)
    assert suites["small"]["page"] == "/suites/small/"


def test_a_suite_lists_the_tasks_that_do_not_count(small: SuiteVersion) -> None:
    TaskRevision.objects.filter(task__slug="alpha/2").update(audit_state=AuditState.FAILED)
    suite = Program().get("/suites/small")
    assert [each["version"] for each in suite["versions"]] == [1]
    assert (suite["counted"], suite["why_closed"]) == (1, "")
    assert suite["left_out"] == [
        {"task": "alpha/2", "why": "failed its audit: its test does not distinguish right from wrong answers"}
    ]
    assert Program().problem("GET", "/suites/small?version=2")["status"] == 404
    assert Program().problem("GET", "/suites/small?version=x")["status"] == 422


def test_a_task_has_the_text_that_systems_are_given(small: SuiteVersion) -> None:
    tasks = Program().get("/suites/small/tasks")["items"]
    assert [(each["task"], each["goal"], each["category"]) for each in tasks] == [
        ("alpha/1", "double", "evaluation-metrics"),
        ("alpha/2", "Scorer.score", "training-objectives-optimization"),
    ]
    chosen = Program().get("/suites/small/tasks?category=evaluation-metrics")["items"]
    assert [each["task"] for each in chosen] == ["alpha/1"]
    task, revision = Program().get("/suites/small/tasks/alpha/1"), TaskRevision.objects.get(task__slug="alpha/1")
    assert (task["instruction"], task["masked_source"]) == (revision.instruction, revision.masked_source)
    assert (task["in_version"], task["audited"]["state"], task["revision"]) == (True, "passed", 1)
    assert "return 2 * x" not in str(task)
    assert Program().problem("GET", "/suites/small/tasks/alpha/9")["status"] == 404


def test_a_task_has_its_flags_and_the_month_of_its_paper(small: SuiteVersion) -> None:
    revision = small.revisions.get(task__slug="alpha/1")
    Paper.objects.update(address="https://arxiv.org/abs/2405.01234", repository_address="https://example.org/code")
    cases = []
    for published in (True, False):
        answer = ImplementationFactory(
            submission=SubmissionFactory(suite_version=small, published=published), revision=revision
        )
        case = case_of(answer, state="final", label="CC", source="decision", closed=timezone.now())
        cases.append(case)
        flag_task(decided(case, ReviewerFactory(adjudicator=True), "CC", reasons=["bad_test"], note="secret"))
    task = Program().get("/suites/small/tasks/alpha/1")
    assert (task["paper_first_public"], task["repository"]) == ("2024-05", "https://example.org/code")
    # A case of an unpublished submission is not named.
    assert [(flag["reason"], flag["case"]) for flag in task["flags"]] == [("bad_test", cases[0].pk), ("bad_test", None)]
    assert "secret" not in str(task)
    TaskFlag.objects.update(lifted=timezone.now())
    assert Program().get("/suites/small/tasks/alpha/1")["flags"] == []
    (listed, _) = Program().get("/suites/small/tasks")["items"]
    assert listed["paper_first_public"] == "2024-05"


def test_mutants_are_counted_and_never_quoted(small: SuiteVersion) -> None:
    survivors = [{"id": "core.py:3", "diff": "-secret"}]
    answers = [
        {"right": True, "outcome": "passed"},
        *[{"right": False, "outcome": each} for each in ("passed", "raised")],
    ]
    audit = {"mutants": {"total": 8, "killed": 7, "survivors": survivors}, "answers": answers, "taken_over": True}
    TaskRevision.objects.update(audit=audit)
    task = Program().get("/suites/small/tasks/alpha/1")
    assert (task["audited"]["mutants"], task["audited"]["mutants_failed"]) == (8, 7)
    known = ("right_answers", "right_passed", "wrong_answers", "wrong_failed", "taken_over")
    assert [task["audited"][key] for key in known] == [1, 1, 2, 1, True]
    assert "secret" not in str(task)


@pytest.mark.parametrize(
    ("reasons", "trial", "runs", "upstream_reasons"),
    [
        ([], None, None, []),
        (["It needs a GPU."], None, False, ["It needs a GPU."]),
        ([], {"runs": True, "why": ""}, True, []),
        ([], {"runs": False, "why": "the reference fails"}, False, ["the reference fails"]),
    ],
)
def test_the_overlay_of_a_task(
    small: SuiteVersion,
    reasons: list[str],
    trial: dict[str, object] | None,
    runs: bool | None,
    upstream_reasons: list[str],
) -> None:
    assert Program().get("/suites/small/tasks/alpha/1")["overlay"] is None
    correction = {"key": "category", "was": "", "value": "evaluation-metrics", "reason": "Table 4."}
    left_out = {"file": "copy.py", "reason": "It is the golden file."}
    lines = {"file": "goal.py", "reason": "A copy.", "lines": [2, 31]}
    about = {"tests": "Sums.", "corrections": [correction]}
    overlay = {**about, "left_out": [left_out, lines], "upstream_reasons": reasons}
    TaskRevision.objects.update(overlay=overlay, audit={"upstream": trial} if trial else {})
    assert Program().get("/suites/small/tasks/alpha/1")["overlay"] == {
        "tests": "Sums.",
        "left_open": "",
        "corrections": [correction],
        "left_out": [{**left_out, "lines": []}, lines],
        "upstream_test_runs": runs,
        "upstream_test_reasons": upstream_reasons,
    }
    TaskRevision.objects.update(overlay={**overlay, "left_open": "Ties."})
    assert Program().get("/suites/small/tasks/alpha/1")["overlay"]["left_open"] == "Ties."


def test_results_of_a_task_are_those_of_published_systems(small: SuiteVersion) -> None:
    revision = small.revisions.get(task__slug="alpha/1")
    measured_outcome(measured(small, system__name="Otter"), "passed", revision=revision)
    measured_outcome(measured(small, published=False, system__name="Hidden"), "passed", revision=revision)
    (result,) = Program().get("/suites/small/tasks/alpha/1/results")["items"]
    assert (result["system"], result["outcomes"], result["passed"], result["reported"]) == (
        *("Otter", ["passed"]),
        *(True, False),
    )


def test_the_kit_and_the_paper_are_files(small: SuiteVersion) -> None:
    response = Program().send("GET", "/suites/small/kit")
    assert response.headers["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as archive:
        assert "tasks.json" in archive.namelist()
    again = Program().send("GET", "/suites/small/kit", headers={"If-None-Match": response.headers["ETag"]})
    assert again.status_code == 304
    paper = Program().send("GET", "/suites/small/tasks/alpha/1/paper")
    assert (paper.status_code, paper.headers["X-Content-Type-Options"]) == (200, "nosniff")
    assert b"".join(paper.streaming_content)
    for path in ("/suites/none", "/suites/none/kit"):
        assert Program().problem("GET", path)["detail"] == "There is no suite 'none'. This site has small."
