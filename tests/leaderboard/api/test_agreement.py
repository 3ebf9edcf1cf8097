"""Rater agreement through the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.insight.agreement.raters import Selection
from leaderboard.insight.agreement.report import read_report
from submissions.models import Submission
from tests.leaderboard.api.program import Program
from tests.leaderboard.api.test_judges import judges, rated, version
from tests.reviews.factories import assigned, case_of, ready, reviewed

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from reviews.models import Case
    from submissions.models import User

__all__ = ["judges", "version"]

pytestmark = pytest.mark.django_db

CELL = "/suites/small/agreement/cell?first=judge:one&second=judge:other&cell="


def test_agreement(version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]) -> None:
    for label in ("CC", "LI") * 6:
        rated(version, judges, "CC", label)
    private = rated(version, judges, "LI", "LI")
    Submission.objects.filter(pk=private.submission_id).update(visibility="withdrawn")
    agreement = Program().get("/suites/small/agreement?first=judge:one&second=judge:other")
    (pair,) = agreement["pairs"]
    assert (pair["first_name"], pair["second_name"], pair["n"], pair["conflicts"]) == ("One", "Other", 12, 6)
    assert (pair["labels"], pair["matrix"]) == (["CC", "LC", "LI"], [[6, 0, 6], [0, 0, 0], [0, 0, 0]])
    assert pair["agreement"]["value"] == 0.5
    assert pair["kappa"]["value"] == 0
    assert pair["conflict_share"]["value"] == 0.5
    # Six differences, all one way.
    assert (pair["bowker"]["statistic"], pair["bowker"]["df"]) == (6, 1)
    assert agreement["page"] == "/agreement/small/"
    for wrong in ("first=none", "system=none", "category=none", "first=judge:one&second=judge:one"):
        assert Program().problem("GET", f"/suites/small/agreement?{wrong}")["status"] == 404


def test_tables_of_few_answers_are_hidden_from_their_annotators(
    version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig], bob: User
) -> None:
    assigned(case_of(rated(version, judges, "CC", "LI")), ready(user=bob))
    assert Program().get("/suites/small/agreement")["pairs"]
    assert Program(bob).get("/suites/small/agreement")["pairs"] == []


def test_raters_have_the_numbers_of_the_page(version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]) -> None:
    facts: dict[str, Any] = {"state": "agreed", "source": "agreed", "closed": timezone.now()}
    for label, judge_label in (("CC", "CC"), ("CC", "LI"), ("LI", "LI")):
        answer = rated(version, judges, judge_label, "LC")
        reviewed_by_two(case_of(answer, label=label, **facts), label)
    private = rated(version, judges, "CC", "CC")
    reviewed_by_two(case_of(private, label="CC", **facts), "CC")
    Submission.objects.filter(pk=private.submission_id).update(visibility="private")
    agreement = Program().get("/suites/small/agreement")
    report = read_report(suite=version.suite, selection=Selection())
    assert (agreement["annotators"]["number"], agreement["annotators"]["n"]) == (report.annotators.number, 3)
    assert agreement["annotators"]["fleiss"]["value"] == report.annotators.fleiss.value
    assert [each["judge"] for each in agreement["judges"]] == ["one", "other"]
    one = agreement["judges"][0]
    assert (one["n"], one["abstained"]) == (3, 0)
    assert [(each["label"], each["truths"], each["judged"], each["right"]) for each in one["classes"]] == [
        *(("CC", 2, 1, 1), ("LC", 0, 0, 0), ("LI", 1, 2, 1)),
    ]
    assert one["prediction_powered"]["why"] == report.judges[0][1].prediction_powered.why
    assert agreement["reported_annotators"] is False
    narrowed = Program().get("/suites/small/agreement?binary=true")
    assert (narrowed["annotators"], narrowed["judges"]) == (None, [])


def reviewed_by_two(case: Case, label: str) -> None:
    for _ in range(2):
        reviewed(case, ready(), label)


def test_raters_of_few_answers_are_hidden_from_their_annotators(
    version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig], bob: User
) -> None:
    held = rated(version, judges, "CC", "LI")
    address = f"/suites/small/agreement?system={held.submission.system.slug}"
    assert len(Program(bob).get(address)["judges"]) == 2
    assigned(case_of(held), ready(user=bob))
    assert Program(bob).get(address)["judges"] == []
    assert len(Program().get(address)["judges"]) == 2


def test_the_answers_in_a_cell(version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]) -> None:
    answer = rated(version, judges, "CC", "LI")
    for visibility in ("private", "hidden", "withdrawn"):
        secret = rated(version, judges, "CC", "LI")
        Submission.objects.filter(pk=secret.submission_id).update(visibility=visibility)
    cell = Program().get(f"{CELL}CC,LI")
    assert {name: cell[name] for name in ("first", "second", "first_label", "second_label", "count")} == {
        "first": "judge:one",
        "second": "judge:other",
        "first_label": "CC",
        "second_label": "LI",
        "count": 1,
    }
    assert cell["answers"] == [
        {
            "task": answer.revision.task.slug,
            "system": answer.submission.system.name,
            "inputs": answer.submission.get_inputs_display(),
            "trial": 0,
            "reported": False,
            "first": "CC",
            "second": "LI",
            "page": answer.get_absolute_url(),
            "case": "",
        }
    ]
    assert Program().get(f"{CELL}CC,CC")["answers"] == []
    for wrong in (f"{CELL}CC,none", f"{CELL}x", "/suites/small/agreement/cell?cell=CC,LI&first=none"):
        assert Program().problem("GET", wrong)["status"] == 404
    assert Program().problem("GET", "/suites/small/agreement/cell")["errors"][0]["field"] == "cell"


def test_a_submission_is_in_no_table_for_its_annotators(
    version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig], bob: User
) -> None:
    held, other = rated(version, judges, "CC", "LI"), rated(version, judges, "CC", "LI")
    assigned(case_of(held), ready(user=bob))
    assert Program().get(f"{CELL}CC,LI")["count"] == 2
    found = Program(bob).get(f"{CELL}CC,LI")
    assert (found["count"], [each["page"] for each in found["answers"]]) == (1, [other.get_absolute_url()])


def test_a_cell_needs_the_same_queries_for_any_number_of_answers(
    version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]
) -> None:
    counts = []
    for number in range(2):
        for _ in range(3):
            rated(version, judges, "CC", "LI")
        with CaptureQueriesContext(connection) as queries:
            cell = Program().get(f"{CELL}CC,LI")
        assert len(cell["answers"]) == 3 * (number + 1)
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.usefixtures("shipped")
def test_published_answers() -> None:
    found = Program().get("/suites/lmr-bench/published-answers")
    disagreements, unanswered = found.pop("disagreements"), found.pop("passes_without_answer")
    assert unanswered[1] == {
        "task": "steplength/1",
        "run": "openhands-gpt-4o",
        "system": "OpenHands (GPT-4o)",
        "second_run": "passed",
    }
    assert len(unanswered) == 4
    assert found == {
        "suite": "lmr-bench",
        "verdicts": 61,
        "agreed": 46,
        "may_be_second_run": 5,
        "wrongly_passed": 5,
        "wrongly_failed": 4,
        "evaluator_version": "6",
        "measured": "2026-11-26",
        "page": "/agreement/lmr-bench/published/",
    }
    assert len(disagreements) == 15
    (simclr,) = [each for each in disagreements if each["task"] == "simclr/1"]
    why = simclr.pop("why")
    assert why.startswith("The answer takes each image's similarity with itself")
    assert simclr == {
        "task": "simclr/1",
        "run": "openhands-gpt-4o",
        "system": "OpenHands (GPT-4o)",
        "published": "passed",
        "sealed": "wrong_output",
        "second_run": "passed",
        "may_be_second_run": True,
        "right": "sealed",
    }


def test_a_suite_without_published_answers(version: SuiteVersion) -> None:
    found = Program().get("/suites/small/published-answers")
    assert (found["verdicts"], found["disagreements"], found["measured"]) == (0, [], None)
    assert Program().problem("GET", "/suites/none/published-answers")["status"] == 404
