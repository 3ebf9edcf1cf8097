"""Decided and reported cases through the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmark_tasks.models import Task
from submissions.models import Submission
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.factories import ReportedResultFactory, reported
from tests.reviews.factories import ReviewerFactory, answers, case_of, decided, reviewed

if TYPE_CHECKING:
    from reviews.models import Case

pytestmark = pytest.mark.django_db


def closed(**facts: Any) -> Case:
    """A case that an adjudicator decided against the one annotator's label."""
    (answer,) = answers()
    TestRunFactory(implementation=answer, done="passed")
    case = case_of(answer, **{"state": "final", "label": "LI", "source": "decision", "closed": timezone.now(), **facts})
    reviewed(case, ReviewerFactory(name="Ada Example", shows_name=True), "LC", note="A note.")
    decided(case, ReviewerFactory(adjudicator=True), "LI", reasons=["annotator_slip"], note="Decided so.")
    return case


def test_closed_cases_are_listed_with_every_rater_s_label() -> None:
    case = closed()
    case_of()
    (listed,) = Program().get("/cases")["items"]
    assert (
        listed["id"],
        listed["tests"],
        listed["annotators"],
        listed["label"],
        listed["source"],
        listed["reasons"],
    ) == (
        *(case.pk, "passed", ["LC"]),
        *("LI", "decision", ["annotator_slip"]),
    )
    assert listed["suite"] == case.implementation.submission.suite_version.suite.slug


def test_cases_are_filtered_as_on_the_page() -> None:
    case = closed()
    slug = case.implementation.submission.suite_version.suite.slug
    for query, found in (
        (f"suite={slug}", 1),
        ("reason=annotator_slip", 1),
        ("reason=bad_test", 0),
        ("source=agreed", 0),
    ):
        assert Program().get(f"/cases?{query}")["total"] == found
    assert Program().problem("GET", "/cases?suite=none")["errors"][0]["field"] == "suite"
    assert Program().problem("GET", "/cases?reason=none")["status"] == 422


def test_a_case_has_labels_and_decision_and_has_notes_only_under_a_licence() -> None:
    case = closed()
    detail = Program().get(f"/cases/{case.pk}")
    assert (detail["label"], detail["tests"], detail["decision"]["note"]) == ("LI", "passed", "Decided so.")
    (label,) = detail["labels"]
    assert (label["annotator"], label["label"], label["note"], len(label["findings"])) == (
        "Ada Example",
        "LC",
        "A note.",
        1,
    )
    Submission.objects.update(code_licence="")
    detail = Program().get(f"/cases/{case.pk}")
    assert (detail["decision"]["note"], detail["labels"][0]["note"], detail["labels"][0]["findings"]) == ("", "", [])


@pytest.mark.parametrize("facts", [{"state": "queued", "label": ""}, {"state": "disputed", "label": ""}])
def test_open_cases_are_not_found(facts: dict[str, str], maintainer: Any) -> None:
    case = closed(**facts)
    for program in (Program(), Program(maintainer)):
        assert program.problem("GET", f"/cases/{case.pk}")["status"] == 404
        assert program.get("/cases")["items"] == []


def test_hidden_submissions_have_no_cases() -> None:
    case = closed()
    Submission.objects.update(visibility="hidden")
    assert Program().problem("GET", f"/cases/{case.pk}")["status"] == 404
    assert Program().get("/cases")["total"] == 0


def test_lists_need_the_same_queries_for_any_number_of_rows() -> None:
    def query_count() -> int:
        with CaptureQueriesContext(connection) as queries:
            Program().get("/cases")
        return len(queries)

    closed()
    query_count()
    one = query_count()
    for _ in range(3):
        closed()
    assert query_count() == one


def test_reported_disagreements() -> None:
    entry = reported()
    task = Task.objects.get()
    ReportedResultFactory(run=entry.reported_run, task=task, judge_label="CC", human_label="LI")
    (disagreement,) = Program().get("/reported-cases")["items"]
    assert (
        disagreement["run"],
        disagreement["task"],
        disagreement["judge_label"],
        disagreement["annotators_label"],
    ) == (
        *(entry.reported_run.slug, task.slug),
        *("CC", "LI"),
    )
    assert disagreement["disagreements"] == [
        "judge and annotator are two steps apart",
        "the unit test passes, but the annotator labels the answer LI (wrong)",
    ]
    assert Program().get("/cases")["items"] == []
