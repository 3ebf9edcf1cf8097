"""Claiming, saving, locking, skipping and handing back through the pages, and nothing typed is ever lost."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.models import TaskRevision
from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.labelling.findings import MAX_FINDINGS
from reviews.labelling.forms import FindingForm, LabelForm
from reviews.labelling.keys import KEYS
from reviews.models import Assignment, Case, Review
from tests.reviews.factories import answers, assigned, case_of, guideline, ready, reviewed
from tests.reviews.labelling import DRAFT, FINDING, HIDDEN, HTMX, form_of, held_by, others, sign_in, stored_task
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db

WHOLE = {**FINDING, "start": 2, "end": 3}
ACTS = ["save", "lock", "next", "resume", "return", "skip"]


@pytest.fixture
def task(settings: Settings, tmp_path: Path, db: None) -> TaskRevision:
    return stored_task(settings, tmp_path)


@pytest.fixture
def held(task: TaskRevision, annotator: Reviewer, client: Client) -> Assignment:
    sign_in(client, annotator)
    return held_by(annotator, task)


def send(client: Client, assignment: Assignment, *findings: dict[str, str], htmx: bool = False, **changes: str) -> Any:
    address = f"/reviews/label/{assignment.pk}/"
    response = client.post(address, form_of(*findings, **changes), headers=HTMX if htmx else {})
    assignment.refresh_from_db()
    return response


# Claiming


def test_claiming_leads_to_the_item(client: Client, annotator: Reviewer) -> None:
    sign_in(client, annotator)
    case_of()
    response = client.post("/reviews/next/", {"role": "annotator"})
    assert response.headers["Location"] == f"/reviews/label/{Assignment.objects.get().pk}/"


def test_an_adjudicator_who_was_at_the_evidence_goes_back_there(client: Client, adjudicator: Reviewer) -> None:
    sign_in(client, adjudicator)
    facts = {"role": Role.ADJUDICATOR, "state": AssignmentState.EVIDENCE}
    held = assigned(case_of(state=CaseState.ADJUDICATING), adjudicator, **facts)
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
    assert response.headers["Location"] == f"/reviews/label/{Assignment.objects.get(case=practice).pk}/"


def test_unread_guidelines_come_first(client: Client, annotator: Reviewer) -> None:
    sign_in(client, annotator)
    guideline(2, text="New.", changes="All of it.")
    case_of()
    response = client.post("/reviews/next/", {"role": "annotator"})
    assert response.headers["Location"] == "/reviews/guidelines/2/?since=1"
    assert not Assignment.objects.exists()


@pytest.mark.parametrize("role", ["annotator", "king"])
def test_who_is_no_reviewer_takes_nothing(client: Client, role: str) -> None:
    client.force_login(UserFactory(is_staff=True) if role == "annotator" else ready().user)  # type: ignore[arg-type]
    case_of()
    assert client.post("/reviews/next/", {"role": role}).status_code == 404
    assert not Assignment.objects.exists()


# Saving


@pytest.mark.parametrize("htmx", [True, False])
def test_a_draft_is_kept_as_typed_and_the_lease_renewed(client: Client, held: Assignment, htmx: bool) -> None:
    soon, earlier = timezone.now() + timedelta(seconds=1), timezone.now() - timedelta(minutes=5)
    Assignment.objects.filter(pk=held.pk).update(lease_until=soon, created=earlier)
    response = send(client, held, htmx=htmx, active_seconds="40")
    assert (held.draft, held.draft_version, held.active_seconds) == (DRAFT, 1, 40)
    assert held.lease_until is not None
    assert held.lease_until > timezone.now() + timedelta(minutes=5)
    if htmx:
        text = response.content.decode()
        assert re.search(
            r'id="save-state"[^>]*>Saved \d\d:\d\d<input type="hidden" name="version" [^>]*value="1"', text
        )
        assert "<html" not in text
    else:
        assert response.headers["Location"] == f"/reviews/label/{held.pk}/"


def test_saving_what_is_stored_renews_the_lease_and_makes_no_version(client: Client, held: Assignment) -> None:
    for _ in range(2):
        response = send(client, held, htmx=True, version="0")
    assert (response.status_code, held.draft_version) == (200, 1)


def test_text_is_kept_with_the_line_ends_that_are_shown(client: Client, held: Assignment) -> None:
    send(client, held, {**FINDING, "start": "12a", "text": " a\r\nb "}, note=" one\r\ntwo\n ", label="", confidence="")
    assert held.draft["note"] == " one\ntwo\n "
    assert (held.draft["findings"][0]["text"], held.draft["findings"][0]["start"]) == (" a\nb ", "12a")
    assert (held.draft["label"], held.draft["confidence"]) == ("", None)


@pytest.mark.parametrize("htmx", [True, False])
def test_a_stale_tab_sees_both_and_overwrites_nothing(client: Client, held: Assignment, htmx: bool) -> None:
    send(client, held, note="the other tab")
    response = send(client, held, htmx=htmx, note="this tab")
    text = response.content.decode()
    assert (response.status_code, held.draft["note"]) == (409, "the other tab")
    assert "Another tab or device has saved newer text." in text
    assert "the other tab" in text
    assert re.search(r'name="version" value="1" data-act="keep-mine"', text)
    # A script saves again only once one has chosen; a form without one is sent by choice.
    assert re.search(rf'type="hidden" name="version" form="label-form" value="{0 if htmx else 1}"', text)
    assert ("this tab</textarea>" in text) is not htmx
    assert send(client, held, note="this tab", version="1").status_code == 302
    assert held.draft["note"] == "this tab"


@pytest.mark.parametrize("htmx", [True, False])
def test_a_lost_lease_is_said_and_the_text_is_kept(client: Client, held: Assignment, htmx: bool) -> None:
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.EXPIRED, lease_until=None)
    response = send(client, held, htmx=htmx)
    assert (response.status_code, held.draft) == (410 if htmx else 302, DRAFT)
    text = response.content.decode() if htmx else client.get(f"/reviews/label/{held.pk}/").content.decode()
    assert "ran out" in text
    assert 'name="act" value="resume"' in text


@pytest.mark.parametrize(
    "changes",
    [
        {"label": "XX"}, {"confidence": "4"}, {"note": "x" * 10_001}, {"note": "NUL \0"}, {"paper_page": "0"},
        {"version": "x"}, {"active_seconds": "-1"}, {"finding-0-side": "judge"}, {"finding-0-text": "x" * 2001},
        {"finding-0-start": "9" * 13}, {"finding-0-error_class": "other"}, {"finding-TOTAL_FORMS": "x"},
        {"finding-TOTAL_FORMS": str(MAX_FINDINGS + 1)}, {"tab": "x" * 21},
    ],
)  # fmt: skip
@pytest.mark.parametrize("act", ["save", "lock"])
def test_what_no_page_sends_is_refused_and_shown(
    client: Client, held: Assignment, act: str, changes: dict[str, Any]
) -> None:
    response = send(client, held, act=act, **changes)
    assert response.status_code == 422
    assert "Nothing that you typed is lost." in response.content.decode()
    assert (held.draft, held.state, Review.objects.count()) == ({}, AssignmentState.ACTIVE, 0)


def test_fifty_findings_are_taken(client: Client, held: Assignment) -> None:
    assert django_settings.DATA_UPLOAD_MAX_NUMBER_FIELDS >= 20 + 5 * MAX_FINDINGS
    assert send(client, held, *[FINDING] * (MAX_FINDINGS - 1)).status_code == 302
    assert len(held.draft["findings"]) == MAX_FINDINGS - 1


def test_ignoring_blanks_by_form_keeps_what_is_typed(client: Client, held: Assignment) -> None:
    response = send(client, held, whitespace_to="ignored")
    assert response.headers["Location"] == f"/reviews/label/{held.pk}/?whitespace=ignored"
    assert held.draft["note"] == "A note."
    page = client.get(response.headers["Location"]).content.decode()
    assert 'name="whitespace" form="label-form" value="ignored"' in page


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(
    st.dictionaries(st.sampled_from([*form_of(), "finding-2-text"]), texts | st.sampled_from(["2", "LC", "candidate"]))
)
def test_whatever_is_typed_is_kept_or_refused(changes: dict[str, str]) -> None:
    form = LabelForm(form_of(**changes))  # type: ignore[arg-type]
    if not form.is_valid():
        assert form.all_errors
        assert all(isinstance(text, str) and text for text in form.all_errors)
        return
    draft = form.draft
    assert "\0" not in str(draft)
    assert draft["note"] == changes.get("note", "A note.").replace("\r\n", "\n")
    shown = LabelForm(draft=draft)
    assert shown["note"].value() == draft["note"]
    assert [row["text"].value() for row in shown.findings.forms[: len(draft["findings"])]] == [
        row["text"] for row in draft["findings"]
    ]
    assert set(FindingForm.base_fields) == set(draft["findings"][0]) if draft["findings"] else True


# Locking


def test_a_label_is_locked_and_leads_back(client: Client, held: Assignment) -> None:
    assert send(client, held, act="lock").headers["Location"] == "/reviews/"
    review = Review.objects.get(assignment=held)
    assert (review.label, review.confidence, review.note, review.findings) == ("LI", 3, "A note.", [WHOLE])
    assert "Label locked." in client.get("/reviews/").content.decode()


def test_the_next_item_comes_without_loading_the_page_again(client: Client, held: Assignment) -> None:
    case_of(answers()[0])
    response = send(client, held, htmx=True, act="next")
    following = Assignment.objects.exclude(pk=held.pk).get()
    assert f'"path": "/reviews/label/{following.pk}/"' in response.headers["HX-Location"]
    last = client.post(f"/reviews/label/{following.pk}/", form_of({}, act="next", label="CC"), headers=HTMX)
    assert last.headers["HX-Redirect"] == "/reviews/"
    assert "Label locked. Nothing waits for you now." in client.get("/reviews/").content.decode()


def test_a_form_takes_the_next_too(client: Client, held: Assignment) -> None:
    case_of(answers()[0])
    response = send(client, held, act="next")
    following = Assignment.objects.exclude(pk=held.pk).get()
    assert response.headers["Location"] == f"/reviews/label/{following.pk}/"


def test_what_is_missing_is_said_beside_the_fields_and_nothing_is_lost(client: Client, held: Assignment) -> None:
    response = send(client, held, {**FINDING, "end": "99"}, act="lock", confidence="", note="kept <note>")
    text = response.content.decode()
    assert response.status_code == 422
    assert "Not locked yet." in text
    assert re.search(r'id="confidence-error">Say how sure you are.<', text)
    beside = re.search(r'<li class="finding has-errors".*?</li>', text, re.DOTALL)
    assert beside is not None
    assert "Finding 1 is on lines 2 to 99" in beside[0]
    assert "kept &lt;note&gt;</textarea>" in text
    assert "Twice, not once.</textarea>" in text
    assert 'value="99"' in text
    assert not Review.objects.exists()


def test_practice_leads_to_the_known_answer(client: Client, annotator: Reviewer, task: TaskRevision) -> None:
    sign_in(client, annotator)
    facts = {"kind": CaseKind.PRACTICE, "state": CaseState.QUEUED, "known_label": "CC", "explanation": "Because."}
    assignment = held_by(annotator, task, case=facts)
    response = send(client, assignment, htmx=True, act="next")
    assert response.headers["HX-Redirect"] == f"/reviews/practice/{assignment.pk}/"


def test_an_adjudicator_goes_on_to_the_evidence(client: Client, adjudicator: Reviewer, task: TaskRevision) -> None:
    sign_in(client, adjudicator)
    facts = {"role": Role.ADJUDICATOR}
    assignment = held_by(adjudicator, task, case={"state": CaseState.ADJUDICATING}, assignment=facts)
    assert send(client, assignment, act="next").headers["Location"] == f"/reviews/decide/{assignment.pk}/"
    assert assignment.state == AssignmentState.EVIDENCE


@pytest.mark.parametrize("htmx", [True, False])
def test_a_case_that_needs_no_label_any_more_keeps_the_text(client: Client, held: Assignment, htmx: bool) -> None:
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.EXPIRED, lease_until=None)
    for _ in range(2):
        reviewed(held.case, ready(), "CC")
    Case.objects.filter(pk=held.case_id).update(state=CaseState.AGREED)
    assert send(client, held, htmx=htmx, act="lock").status_code == (410 if htmx else 302)
    assert "A note." in client.get(f"/reviews/label/{held.pk}/").content.decode()
    assert (held.draft["label"], held.draft["note"]) == ("LI", "A note.")
    assert not Review.objects.filter(reviewer=held.reviewer).exists()


def test_changed_guidelines_are_read_before_locking(client: Client, held: Assignment) -> None:
    guideline(2, text="New.", changes="All of it.")
    assert send(client, held, act="lock").headers["Location"] == "/reviews/guidelines/2/?since=1"
    assert send(client, held, htmx=True, act="lock").headers["HX-Redirect"] == "/reviews/guidelines/2/?since=1"
    assert (held.draft["note"], held.state) == ("A note.", AssignmentState.ACTIVE)


@pytest.mark.parametrize("changes", [{"act": "lock", "confidence": ""}, {"act": "lock"}, {"confidence": "x"}, {}])
def test_a_form_after_another_tab_has_locked_loses_nothing(
    client: Client, held: Assignment, changes: dict[str, Any]
) -> None:
    send(client, held, act="lock")
    response = send(client, held, **{"note": "typed <later>", **changes})
    page = response.content.decode()
    assert (response.status_code, "<textarea" in page, "typed &lt;later&gt;" in page) == (410, False, True)
    assert Review.objects.get().note == "A note."


# Taking up, handing back, skipping


def test_an_expired_item_is_taken_up_again(client: Client, held: Assignment) -> None:
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.EXPIRED, lease_until=None, draft=DRAFT)
    Case.objects.filter(pk=held.case_id).update(state=CaseState.QUEUED)
    assert send(client, held, act="resume").headers["Location"] == f"/reviews/label/{held.pk}/"
    assert (held.state, held.draft) == (AssignmentState.ACTIVE, DRAFT)


def test_what_others_took_meanwhile_is_not_taken_up(client: Client, held: Assignment) -> None:
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.EXPIRED, lease_until=None)
    for _ in range(2):
        assigned(held.case, ready())
    response = client.post(f"/reviews/label/{held.pk}/", {"act": "resume"}, follow=True)
    assert "Your time with this item ran out" in response.content.decode()


def test_handing_back_keeps_the_draft(client: Client, held: Assignment) -> None:
    send(client, held)
    assert send(client, held, act="return").headers["Location"] == "/reviews/"
    assert (held.state, held.draft) == (AssignmentState.RETURNED, DRAFT)


def test_skipping_needs_a_reason_and_loses_none(client: Client, held: Assignment) -> None:
    response = send(client, held, act="skip", reason="too <hard")
    assert response.status_code == 422
    page = response.content.decode()
    dialog = page[page.index('<dialog id="leave"') :].split("</dialog>")[0]
    # With scripts the dialog is closed otherwise; what is wrong and what was typed would not be seen.
    assert re.match(r"<dialog [^>]* data-opens>", dialog)
    assert re.search(r'autofocus [^>]*aria-describedby="skip-help skip-error">too &lt;hard</textarea>', dialog)
    response = send(client, held, act="skip", reason="I wrote this paper myself.")
    assert (response.headers["Location"], held.state) == ("/reviews/", AssignmentState.SKIPPED)
    assert held.skip_reason == "I wrote this paper myself."


@pytest.mark.parametrize("reason", ["", "I wrote this paper myself."])
def test_what_is_locked_is_not_skipped(client: Client, held: Assignment, reason: str) -> None:
    send(client, held, act="lock")
    page = client.post(f"/reviews/label/{held.pk}/", {"act": "skip", "reason": reason}, follow=True).content.decode()
    assert "Your label of this item is locked" in page


# Who may, and what is said


@pytest.mark.parametrize("act", ACTS)
def test_nobody_else_can_act(client: Client, held: Assignment, act: str) -> None:
    for user in others():
        client.force_login(user)
        assert send(client, held, act=act).status_code == 404
    client.logout()
    assert send(client, held, act=act).headers["Location"].startswith("/accounts/login/")
    assert send(client, held, act=act, htmx=True).status_code == 401
    without_token = Client(enforce_csrf_checks=True)
    sign_in(without_token, held.reviewer)
    assert send(without_token, held, act=act).status_code == 403
    assert (held.state, held.draft) == (AssignmentState.ACTIVE, {})


@pytest.mark.parametrize("htmx", [True, False])
def test_answers_say_nothing_hidden(client: Client, held: Assignment, htmx: bool) -> None:
    reviewed(held.case, ready(pseudonym="Hidden Peer"), "LI", note="hidden peer note")
    responses = [
        send(client, held, htmx=htmx, **changes)
        for changes in ({}, {"note": "other"}, {"label": "XX"}, {"act": "lock", "label": ""}, {"act": "lock"}, {})
    ]
    statuses = [200, 409, 422, 422, 200, 410] if htmx else [302, 409, 422, 422, 302, 410]
    assert [response.status_code for response in responses] == statuses
    said = " ".join(str(response.headers) + response.content.decode() for response in responses)
    assert [word for word in (*HIDDEN, "Hidden Peer", "hidden peer note") if word in said] == []


def test_no_key_is_used_twice() -> None:
    assert len({key.key for key in KEYS.values()}) == len(KEYS) == 25
