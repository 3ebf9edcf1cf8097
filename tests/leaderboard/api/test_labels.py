"""Labelling through the API: the same items, leases, drafts, locks and blindness as on the pages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from reviews.enums import AssignmentState, CaseState, Role
from reviews.labelling.items import blind_item
from reviews.models import Assignment, Review
from tests.leaderboard.api.program import Program
from tests.leaderboard.judging import JudgeFactory, judged, show
from tests.reviews.conftest import task
from tests.reviews.factories import assigned, case_of, expired, ready
from tests.reviews.labelling import HIDDEN, held_by

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision
    from reviews.models import Reviewer

__all__ = ["task"]

pytestmark = pytest.mark.django_db

FINDING = {"side": "candidate", "start": 2, "end": 3, "text": "Twice, not once.", "error_class": "comprehension"}
GIVEN = {"label": "LI", "confidence": 3, "findings": [FINDING], "note": "A note."}
STORED = {**FINDING, "start": "2", "end": "3"}


@pytest.fixture
def annotator(db: None) -> Reviewer:
    """An annotator who has read the guidelines."""
    return ready()


@pytest.fixture
def held(annotator: Reviewer, task: TaskRevision) -> Assignment:
    """The item that the annotator holds."""
    return held_by(annotator, task)


@pytest.fixture
def program(annotator: Reviewer) -> Program:
    """A client with a token of the annotator's."""
    return Program(annotator.user, "label")


def test_an_item_has_the_data_of_the_page_and_nothing_else(program: Program, held: Assignment) -> None:
    response = program.send("GET", f"/labels/{held.pk}")
    shown, item = response.json(), blind_item(held)
    assert (shown["task"], shown["golden"], shown["candidate"]) == (item.task, item.golden, item.candidate)
    assert shown["masked"] == {
        "path": item.masked.path,
        "text": item.masked.text,
        "first": item.masked.first,
        "last": item.masked.last,
    }
    assert shown["lines"] == {"candidate": 3, "golden": len(item.golden.split("\n"))}
    assert shown["draft"] == {"label": "", "confidence": None, "findings": [], "note": "", "version": 0}
    assert shown["locked"] is None
    everything = json.dumps(shown) + repr(response.headers)
    assert [word for word in HIDDEN if word in everything] == []


def test_taking_the_next_item(program: Program, annotator: Reviewer, task: TaskRevision) -> None:
    assert program.send("POST", "/labels/next").status_code == 204
    case = held_by(ready(), task, case={"state": CaseState.QUEUED}, assignment={"state": "returned"}).case
    taken = program.post("/labels/next")
    mine = Assignment.objects.get(reviewer=annotator)
    assert (taken["id"], taken["state"], mine.case) == (mine.pk, "active", case)
    assert program.post("/labels/next")["id"] == mine.pk


def test_annotators_who_have_not_read_the_guidelines_get_an_address(task: TaskRevision) -> None:
    from tests.reviews.factories import ReviewerFactory, guideline

    guideline()
    unread: Reviewer = ReviewerFactory()
    problem = Program(unread.user, "label").problem("POST", "/labels/next")
    assert (problem["status"], problem["type"]) == (403, "/docs/api/#not-allowed")
    assert problem["address"].startswith("/reviews/")


def test_a_draft_is_kept_and_never_overwritten_by_an_older_one(program: Program, held: Assignment) -> None:
    Assignment.objects.update(draft={"paper_page": 4, "view": {"tab": "pane-paper"}, "note": "older"})
    draft = program.send("PUT", f"/labels/{held.pk}/draft", {**GIVEN, "version": 0}).json()
    assert draft == {**GIVEN, "findings": [STORED], "version": 1}
    held.refresh_from_db()
    assert (held.draft["paper_page"], held.draft["view"]) == (4, {"tab": "pane-paper"})
    problem = program.problem("PUT", f"/labels/{held.pk}/draft", {"note": "Other.", "version": 0})
    assert (problem["status"], problem["version"], problem["draft"]["note"]) == (409, 1, "A note.")
    assert program.get(f"/labels/{held.pk}")["draft"]["note"] == "A note."


def test_invalid_drafts_are_refused_with_reasons(program: Program, held: Assignment) -> None:
    address = f"/labels/{held.pk}/draft"
    many = program.problem("PUT", address, {"findings": [FINDING] * 51, "version": 0})
    assert (many["status"], many["detail"]) == (422, "findings: There are 51 findings; at most 50 can be kept.")
    assert program.problem("PUT", address, {"note": "a\0b", "version": 0})["status"] == 422
    assert program.problem("PUT", address, {"label": "XX", "version": 0})["errors"][0]["field"] == "label"
    assert Assignment.objects.get().draft == {}


def test_a_label_is_locked_once_and_for_good(program: Program, held: Assignment) -> None:
    locked = program.post(f"/labels/{held.pk}/lock", GIVEN)
    assert {name: locked[name] for name in GIVEN} == GIVEN
    review = Review.objects.get()
    assert (review.label, review.confidence, review.findings, review.note) == ("LI", 3, [FINDING], "A note.")
    assert program.post(f"/labels/{held.pk}/lock", GIVEN)["locked"] == locked["locked"]
    problem = program.problem("POST", f"/labels/{held.pk}/lock", {**GIVEN, "label": "LC"})
    assert (problem["status"], problem["type"]) == (409, "/docs/api/#wrong-state")
    assert Review.objects.count() == 1
    assert program.get(f"/labels/{held.pk}")["locked"]["label"] == "LI"


def test_missing_parts_of_a_label_are_listed(program: Program, held: Assignment) -> None:
    problem = program.problem("POST", f"/labels/{held.pk}/lock", {"label": "LI", "findings": []})
    assert problem["errors"] == [
        {"field": "confidence", "message": "Choose your confidence."},
        {"field": "findings", "message": "LI needs at least one finding: describe what is wrong, and on which lines."},
    ]
    far = {**GIVEN, "findings": [{**FINDING, "end": 9}]}
    assert program.problem("POST", f"/labels/{held.pk}/lock", far)["errors"][0]["field"] == "finding-0"
    assert Review.objects.count() == 0


def test_returning_taking_up_again_and_skipping(program: Program, held: Assignment) -> None:
    assert program.post(f"/labels/{held.pk}/return")["state"] == AssignmentState.RETURNED
    assert program.post(f"/labels/{held.pk}/resume")["state"] == AssignmentState.ACTIVE
    expired(held)
    assert program.post(f"/labels/{held.pk}/resume")["state"] == AssignmentState.ACTIVE
    assert program.problem("POST", f"/labels/{held.pk}/skip", {"reason": "no"})["status"] == 422
    assert program.post(f"/labels/{held.pk}/skip", {"reason": "I wrote this paper."})["state"] == "skipped"
    assert program.problem("POST", f"/labels/{held.pk}/resume")["status"] == 409


def test_only_the_annotators_own_blind_items_are_found(program: Program, annotator: Reviewer, held: Assignment) -> None:
    others = [
        assigned(case_of(), ready()),
        assigned(case_of(kind="practice", known_label="CC"), annotator),
        assigned(case_of(), annotator, role=Role.ADJUDICATOR),
    ]
    for each in others:
        assert program.problem("GET", f"/labels/{each.pk}")["status"] == 404
        assert program.problem("POST", f"/labels/{each.pk}/lock", GIVEN)["status"] == 404


def test_results_of_the_held_item_are_hidden_in_other_operations(annotator: Reviewer, held: Assignment) -> None:
    answer = held.case.implementation
    judge = JudgeFactory()
    show(answer.submission.suite_version.suite, judge)
    judged(answer, judge, "LC")
    case = case_of(answer, round=2, state="final", label="CC", source="decision", closed=timezone.now())
    reading = Program(annotator.user, "read")
    address = f"/submissions/{answer.submission_id}"
    assert reading.problem("GET", f"{address}/answers/alpha/1/1")["type"] == "/docs/api/#blind"
    assert reading.problem("GET", "/suites/small/tasks/alpha/1/results")["type"] == "/docs/api/#blind"
    shown = reading.get(address)
    assert (shown["hidden_while_you_label"], shown["tests"]) == (True, None)
    # Zero would mean that no answer passed.
    assert shown["progress"]["passed"] is None
    (row,) = reading.get(f"{address}/answers")["items"]
    assert (row["outcome"], row["state"], row["reason"]) == ("", "hidden while you label", "")
    assert (row["judge_label"], row["final_label"]) == ("", "")
    assert reading.get("/cases")["items"] == []
    assert reading.problem("GET", f"/cases/{case.pk}")["type"] == "/docs/api/#blind"
    anonymous = Program()
    assert anonymous.get(address)["progress"]["passed"] == 0
    assert anonymous.get(f"{address}/answers")["items"][0]["judge_label"] == "LC"
    assert [each["id"] for each in anonymous.get("/cases")["items"]] == [case.pk]


def test_the_papers_file_name_reveals_nothing(program: Program, held: Assignment) -> None:
    response = program.send("GET", f"/labels/{held.pk}/paper")
    assert (response.status_code, response.headers["Content-Disposition"]) == (200, 'inline; filename="paper.pdf"')
    assert b"".join(response.streaming_content)
