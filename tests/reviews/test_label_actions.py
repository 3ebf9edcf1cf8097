"""Claiming, drafts, locking, skipping and handing back through the pages: forms and JSON, and nothing is ever lost."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.utils import timezone

from benchmark_tasks.models import TaskRevision
from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.models import Assignment, Case, Review
from tests.reviews.factories import answers, assigned, case_of, guideline, ready, reviewed
from tests.reviews.labelling import HIDDEN, held_by, others, sign_in, stored_task
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db

FINDING = {"side": "candidate", "start": "2", "end": "3", "text": "Twice, not once.", "error_class": "comprehension"}
DRAFT: dict[str, Any] = {
    "label": "LI", "confidence": 3, "findings": [FINDING], "note": "A note.", "paper_page": 2,
    "view": {"tab": "pane-paper"},
}  # fmt: skip
FORM = {
    "label": "LI", "confidence": "3", "note": "A note.", "paper_page": "2", "version": "0",
    **{f"finding-0-{part}": value for part, value in FINDING.items()},
    "finding-1-side": "candidate", "finding-1-start": "", "finding-1-end": "", "finding-1-text": "",
}  # fmt: skip


@pytest.fixture
def task(settings: Settings, tmp_path: Path, db: None) -> TaskRevision:
    return stored_task(settings, tmp_path)


@pytest.fixture
def held(task: TaskRevision, annotator: Reviewer, client: Client) -> Assignment:
    sign_in(client, annotator)
    return held_by(annotator, task)


def send(client: Client, assignment: Assignment, action: str, data: Any) -> Any:
    return client.post(f"/reviews/label/{assignment.pk}/{action}/", json.dumps(data), content_type="application/json")


def save(client: Client, assignment: Assignment, draft: Any = DRAFT, version: Any = 0, **more: Any) -> Any:
    return send(client, assignment, "draft", {"draft": draft, "version": version, "active_seconds": 0, **more})


# Claiming


def test_claiming_leads_to_the_item(client: Client, annotator: Reviewer) -> None:
    sign_in(client, annotator)
    case_of()
    response = client.post("/reviews/next/", {"role": "annotator"})
    assert response.headers["Location"] == f"/reviews/label/{Assignment.objects.get().pk}/"


def test_an_adjudicator_who_was_at_the_evidence_goes_back_there(client: Client, adjudicator: Reviewer) -> None:
    sign_in(client, adjudicator)
    held = assigned(
        case_of(state=CaseState.ADJUDICATING), adjudicator, role=Role.ADJUDICATOR, state=AssignmentState.EVIDENCE
    )
    response = client.post("/reviews/next/", {"role": "adjudicator"})
    assert response.headers["Location"] == f"/reviews/decide/{held.pk}/"


def test_nothing_to_do_is_said_on_the_first_page(client: Client, annotator: Reviewer) -> None:
    sign_in(client, annotator)
    response = client.post("/reviews/next/", {"role": "annotator"}, follow=True)
    assert response.redirect_chain == [("/reviews/", 302)]
    assert "Nothing waits for you now." in response.content.decode()


def test_practice_comes_before_the_first_real_item(client: Client, annotator: Reviewer) -> None:
    sign_in(client, annotator)
    case_of()
    practice = case_of(kind=CaseKind.PRACTICE, known_label="CC", explanation="Because.")
    response = client.post("/reviews/next/", {"role": "annotator"})
    assignment = Assignment.objects.get(case=practice)
    assert response.headers["Location"] == f"/reviews/label/{assignment.pk}/"


def test_unread_guidelines_come_first(client: Client, annotator: Reviewer) -> None:
    sign_in(client, annotator)
    guideline(2, text="New.", changes="All of it.")
    case_of()
    response = client.post("/reviews/next/", {"role": "annotator"})
    assert response.headers["Location"] == "/reviews/guidelines/2/?since=1"
    assert not Assignment.objects.exists()


@pytest.mark.parametrize("role", ["annotator", "king"])
def test_who_is_no_reviewer_takes_nothing(client: Client, role: str) -> None:
    if role == "king":
        sign_in(client, ready())
    else:
        client.force_login(UserFactory(is_staff=True))
    case_of()
    assert client.post("/reviews/next/", {"role": role}).status_code == 404
    assert not Assignment.objects.exists()


# Drafts


def test_a_draft_is_kept_as_typed(client: Client, held: Assignment) -> None:
    Assignment.objects.filter(pk=held.pk).update(lease_until=timezone.now() + timedelta(seconds=1))
    response = save(client, held)
    held.refresh_from_db()
    assert (response.status_code, held.draft, held.draft_version) == (200, DRAFT, 1)
    assert response.json() == {"version": 1, "lease_until": held.lease_until.isoformat()}
    assert held.lease_until > timezone.now() + timedelta(minutes=5)


def test_a_heartbeat_renews_the_lease_and_leaves_the_draft(client: Client, held: Assignment) -> None:
    Assignment.objects.filter(pk=held.pk).update(lease_until=timezone.now() + timedelta(seconds=1), draft_version=3)
    response = save(client, held, draft=None, version=1)
    held.refresh_from_db()
    assert (response.status_code, response.json()["version"], held.draft_version, held.draft) == (200, 3, 3, {})
    assert held.lease_until > timezone.now() + timedelta(minutes=5)


def test_active_time_adds_up(client: Client, held: Assignment) -> None:
    Assignment.objects.filter(pk=held.pk).update(created=timezone.now() - timedelta(minutes=5))
    save(client, held, active_seconds=40)
    held.refresh_from_db()
    assert held.active_seconds == 40


def test_a_stale_tab_gets_the_newer_draft_and_overwrites_nothing(client: Client, held: Assignment) -> None:
    save(client, held, {**DRAFT, "note": "the other tab"})
    response = save(client, held, {**DRAFT, "note": "this tab"}, version=0)
    assert response.status_code == 409
    assert (response.json()["draft"]["note"], response.json()["version"]) == ("the other tab", 1)
    held.refresh_from_db()
    assert held.draft["note"] == "the other tab"


def test_a_lost_lease_is_said_and_the_text_is_kept(client: Client, held: Assignment) -> None:
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.EXPIRED, lease_until=None)
    response = save(client, held)
    held.refresh_from_db()
    assert (response.status_code, response.json()["version"], held.draft) == (410, 1, DRAFT)
    assert "ran out" in response.json()["message"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", "body"),
        (b"[1]", "body"),
        (b"\xff", "body"),
        (b'{"draft": 3}', "draft"),
        (b'{"draft": {}, "version": "1"}', "version"),
        (b'{"draft": {}, "version": true}', "version"),
        (b'{"draft": {}, "version": 0, "active_seconds": -1}', "active_seconds"),
        (b'{"draft": {"label": "XX"}, "version": 0}', "label"),
        (b'{"draft": {"surprise": 1}, "version": 0}', "draft"),
        (b'{"draft": {"view": {"x": "' + b"y" * 2000 + b'"}}, "version": 0}', "view"),
    ],
)  # fmt: skip
def test_what_is_no_draft_is_refused_by_field(client: Client, held: Assignment, body: bytes, field: str) -> None:
    for action in ("draft", "lock"):
        response = client.post(f"/reviews/label/{held.pk}/{action}/", body, content_type="application/json")
        assert response.status_code == 400
    response = client.post(f"/reviews/label/{held.pk}/draft/", body, content_type="application/json")
    assert field in response.json()["errors"]
    held.refresh_from_db()
    assert (held.draft, held.state) == ({}, AssignmentState.ACTIVE)


def test_a_form_saves_a_draft_too(client: Client, held: Assignment) -> None:
    response = client.post(f"/reviews/label/{held.pk}/draft/", FORM)
    assert response.headers["Location"] == f"/reviews/label/{held.pk}/"
    held.refresh_from_db()
    assert held.draft == {**DRAFT, "view": {}}


def test_a_form_that_is_stale_shows_both(client: Client, held: Assignment) -> None:
    save(client, held, {**DRAFT, "note": "the other tab"})
    response = client.post(f"/reviews/label/{held.pk}/draft/", {**FORM, "note": "this tab"})
    text = response.content.decode()
    assert response.status_code == 409
    assert "this tab</textarea>" in text
    assert "the other tab" in text
    assert 'name="version" value="1"' in text


def test_ignoring_blanks_by_form_keeps_what_is_typed(client: Client, held: Assignment) -> None:
    client.post(f"/reviews/label/{held.pk}/draft/", {**FORM, "whitespace": "ignored"})
    held.refresh_from_db()
    assert (held.draft["view"], held.draft["note"]) == ({"whitespace": "ignored"}, "A note.")


# Locking


def test_a_label_is_locked_and_leads_back(client: Client, held: Assignment) -> None:
    response = send(client, held, "lock", {"draft": DRAFT, "version": 0, "active_seconds": 0, "then": "home"})
    assert (response.status_code, response.json()) == (200, {"location": "/reviews/"})
    review = Review.objects.get(assignment=held)
    assert (review.label, review.confidence, review.note) == ("LI", 3, "A note.")
    assert review.findings == [{**FINDING, "start": 2, "end": 3}]
    assert "Label locked." in client.get("/reviews/").content.decode()


def test_a_form_locks_too_and_takes_the_next(client: Client, held: Assignment) -> None:
    case_of(answers()[0])
    response = client.post(f"/reviews/label/{held.pk}/lock/", {**FORM, "then": "next"})
    following = Assignment.objects.exclude(pk=held.pk).get()
    assert response.headers["Location"] == f"/reviews/label/{following.pk}/"
    assert Review.objects.get().findings == [{**FINDING, "start": 2, "end": 3}]


def test_what_is_missing_is_said_beside_the_fields_and_nothing_is_lost(client: Client, held: Assignment) -> None:
    form = {**FORM, "confidence": "", "finding-0-end": "99", "note": "kept <note>"}
    response = client.post(f"/reviews/label/{held.pk}/lock/", form)
    text = response.content.decode()
    assert response.status_code == 400
    assert "Say how sure you are." in text
    beside = re.search(r'<li class="finding has-errors".*?</li>', text, re.DOTALL)
    assert beside is not None
    assert "Finding 1 is on lines 2 to 99" in beside[0]
    assert "kept &lt;note&gt;</textarea>" in text
    assert "Twice, not once.</textarea>" in text
    assert 'value="99"' in text
    assert not Review.objects.exists()


def test_json_names_the_fields(client: Client, held: Assignment) -> None:
    draft = {**DRAFT, "confidence": None, "findings": []}
    response = send(client, held, "lock", {"draft": draft, "version": 0, "active_seconds": 0})
    assert (response.status_code, sorted(response.json()["errors"])) == (400, ["confidence", "findings"])


def test_practice_leads_to_the_known_answer(client: Client, annotator: Reviewer, task: TaskRevision) -> None:
    sign_in(client, annotator)
    facts = {"kind": CaseKind.PRACTICE, "state": CaseState.QUEUED, "known_label": "CC", "explanation": "Because."}
    assignment = held_by(annotator, task, case=facts)
    response = send(client, assignment, "lock", {"draft": DRAFT, "version": 0, "active_seconds": 0})
    assert response.json() == {"location": f"/reviews/practice/{assignment.pk}/"}


def test_an_adjudicator_goes_on_to_the_evidence(client: Client, adjudicator: Reviewer, task: TaskRevision) -> None:
    sign_in(client, adjudicator)
    facts = {"state": CaseState.ADJUDICATING}
    assignment = held_by(adjudicator, task, case=facts, assignment={"role": Role.ADJUDICATOR})
    response = send(client, assignment, "lock", {"draft": DRAFT, "version": 0, "active_seconds": 0})
    assert response.json() == {"location": f"/reviews/decide/{assignment.pk}/"}
    assignment.refresh_from_db()
    assert assignment.state == AssignmentState.EVIDENCE


@pytest.mark.parametrize("by_script", [True, False])
def test_a_case_that_needs_no_label_any_more_keeps_the_text(client: Client, held: Assignment, by_script: bool) -> None:
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.EXPIRED, lease_until=None)
    for _ in range(2):
        reviewed(held.case, ready(), "CC")
    Case.objects.filter(pk=held.case_id).update(state=CaseState.AGREED)
    if by_script:
        response = send(client, held, "lock", {"draft": DRAFT, "version": 0, "active_seconds": 0})
        assert response.status_code == 410
    else:
        response = client.post(f"/reviews/label/{held.pk}/lock/", FORM)
        assert response.headers["Location"] == f"/reviews/label/{held.pk}/"
        assert "A note." in client.get(f"/reviews/label/{held.pk}/").content.decode()
    held.refresh_from_db()
    assert (held.draft["label"], held.draft["note"]) == ("LI", "A note.")
    assert not Review.objects.filter(reviewer=held.reviewer).exists()


@pytest.mark.parametrize("by_script", [True, False])
def test_changed_guidelines_are_read_before_locking(client: Client, held: Assignment, by_script: bool) -> None:
    guideline(2, text="New.", changes="All of it.")
    if by_script:
        response = send(client, held, "lock", {"draft": DRAFT, "version": 0, "active_seconds": 0})
        place = response.json()["location"]
    else:
        place = client.post(f"/reviews/label/{held.pk}/lock/", FORM).headers["Location"]
    assert place == "/reviews/guidelines/2/?since=1"
    held.refresh_from_db()
    assert (held.draft["note"], held.state) == ("A note.", AssignmentState.ACTIVE)


# Taking up, handing back, skipping


@pytest.mark.parametrize("by_script", [True, False])
def test_an_expired_item_is_taken_up_again(client: Client, held: Assignment, by_script: bool) -> None:
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.EXPIRED, lease_until=None, draft=DRAFT)
    Case.objects.filter(pk=held.case_id).update(state=CaseState.QUEUED)
    if by_script:
        assert send(client, held, "resume", {}).json()["version"] == 0
    else:
        response = client.post(f"/reviews/label/{held.pk}/resume/")
        assert response.headers["Location"] == f"/reviews/label/{held.pk}/"
    held.refresh_from_db()
    assert (held.state, held.draft) == (AssignmentState.ACTIVE, DRAFT)


def test_what_others_took_meanwhile_is_not_taken_up(client: Client, held: Assignment) -> None:
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.EXPIRED, lease_until=None)
    for _ in range(2):
        assigned(held.case, ready())
    assert send(client, held, "resume", {}).status_code == 410
    response = client.post(f"/reviews/label/{held.pk}/resume/", follow=True)
    assert "Your time with this item ran out" in response.content.decode()


def test_handing_back_keeps_the_draft(client: Client, held: Assignment) -> None:
    save(client, held)
    assert client.post(f"/reviews/label/{held.pk}/return/").headers["Location"] == "/reviews/"
    held.refresh_from_db()
    assert (held.state, held.draft) == (AssignmentState.RETURNED, DRAFT)


def test_skipping_needs_a_reason_and_loses_none(client: Client, held: Assignment) -> None:
    response = client.post(f"/reviews/label/{held.pk}/skip/", {"reason": "too <hard"})
    assert response.status_code == 400
    assert "too &lt;hard</textarea>" in response.content.decode()
    response = client.post(f"/reviews/label/{held.pk}/skip/", {"reason": "I wrote this paper myself."})
    held.refresh_from_db()
    assert (response.headers["Location"], held.state, held.skip_reason) == (
        "/reviews/", AssignmentState.SKIPPED, "I wrote this paper myself.",
    )  # fmt: skip


# Who may, and what is said


@pytest.mark.parametrize("action", ["draft", "lock", "resume", "return", "skip"])
def test_nobody_else_can_act(client: Client, held: Assignment, action: str) -> None:
    for user in others():
        client.force_login(user)
        assert send(client, held, action, {"draft": DRAFT, "version": 0, "active_seconds": 0}).status_code == 404
        assert client.post(f"/reviews/label/{held.pk}/{action}/", FORM).status_code == 404
    client.logout()
    assert client.post(f"/reviews/label/{held.pk}/{action}/", FORM).headers["Location"].startswith("/accounts/login/")
    held.refresh_from_db()
    assert (held.state, held.draft) == (AssignmentState.ACTIVE, {})


@pytest.mark.parametrize("action", ["draft", "lock", "resume", "return", "skip"])
def test_actions_need_a_post_and_its_token(held: Assignment, action: str) -> None:
    client = Client(enforce_csrf_checks=True)
    sign_in(client, held.reviewer)
    assert client.get(f"/reviews/label/{held.pk}/{action}/").status_code == 405
    assert send(client, held, action, {"draft": DRAFT, "version": 0, "active_seconds": 0}).status_code == 403
    held.refresh_from_db()
    assert (held.state, held.draft) == (AssignmentState.ACTIVE, {})


def test_answers_say_nothing_hidden(client: Client, held: Assignment) -> None:
    reviewed(held.case, ready(pseudonym="Hidden Peer"), "LI", note="hidden peer note")
    responses = [
        save(client, held),
        save(client, held),
        save(client, held, {**DRAFT, "note": "other"}, version=0),
        save(client, held, {"surprise": 1}),
        send(client, held, "lock", {"draft": {}, "version": 0, "active_seconds": 0}),
        send(client, held, "lock", {"draft": DRAFT, "version": 0, "active_seconds": 0}),
        save(client, held),
    ]
    assert [response.status_code for response in responses] == [200, 200, 409, 400, 400, 200, 410]
    said = " ".join(str(response.headers) + response.content.decode() for response in responses)
    assert [word for word in (*HIDDEN, "Hidden Peer", "hidden peer note") if word in said] == []
