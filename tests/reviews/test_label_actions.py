"""Claiming, saving, locking, skipping and handing back on the pages, without losing input."""

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

from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.labelling.findings import MAX_FINDINGS
from reviews.labelling.forms import FindingForm, LabelForm
from reviews.models import Assignment, Case, Review
from tests.reviews.factories import answers, assigned, case_of, guideline, ready, reviewed
from tests.reviews.labelling import DRAFT, FINDING, HIDDEN, HTMX, form_of, held_by, others, sign_in
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision
    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db

EXPIRED = {"state": AssignmentState.EXPIRED, "lease_until": None}
REASON = "I wrote this paper myself."
both_ways = pytest.mark.parametrize("htmx", [True, False])


@pytest.fixture
def held(task: TaskRevision, annotator: Reviewer, client: Client) -> Assignment:
    sign_in(client, annotator)
    return held_by(annotator, task)


def send(client: Client, assignment: Assignment, *findings: dict[str, str], htmx: bool = False, **changes: str) -> Any:
    address = f"/reviews/label/{assignment.pk}/"
    response = client.post(address, form_of(*findings, **changes), headers=HTMX if htmx else {})
    assignment.refresh_from_db()
    return response


def page_of(client: Client, assignment: Assignment) -> str:
    return client.get(f"/reviews/label/{assignment.pk}/").content.decode()


def takes(client: Client, reviewer: Reviewer, role: str = "annotator") -> Any:
    sign_in(client, reviewer)
    return client.post("/reviews/next/", {"role": role}, follow=False)


class TestClaiming:
    def test_claiming_leads_to_practice_first_then_to_the_item(self, client: Client, annotator: Reviewer) -> None:
        assert takes(client, annotator).headers["Location"] == "/reviews/"
        assert "Nothing waits for you now." in client.get("/reviews/").content.decode()
        case = case_of()
        practice = case_of(kind=CaseKind.PRACTICE, known_label="CC", explanation="Because.")
        place = takes(client, annotator).headers["Location"]
        assert place == f"/reviews/label/{Assignment.objects.get(case=practice).pk}/"
        Case.objects.filter(pk=practice.pk).update(state=CaseState.VOID)
        place = takes(client, annotator).headers["Location"]
        assert place == f"/reviews/label/{Assignment.objects.get(case=case).pk}/"

    def test_annotators_who_are_signed_out_return_to_the_page_with_the_button(self, client: Client) -> None:
        response = client.post("/reviews/next/", {"role": "annotator"})
        assert response.headers["Location"] == "/accounts/login/?next=/reviews/"
        response = client.get("/reviews/next/")
        assert (response.status_code, response.headers["Location"]) == (302, "/reviews/")

    def test_an_adjudicator_returns_to_the_evidence(self, client: Client, adjudicator: Reviewer) -> None:
        facts = {"role": Role.ADJUDICATOR, "state": AssignmentState.EVIDENCE}
        held = assigned(case_of(state=CaseState.ADJUDICATING), adjudicator, **facts)
        assert takes(client, adjudicator, "adjudicator").headers["Location"] == f"/reviews/decide/{held.pk}/"

    def test_only_reviewers_claim_items(self, client: Client, annotator: Reviewer) -> None:
        case_of()
        assert takes(client, annotator, "king").status_code == 404
        client.force_login(UserFactory(is_staff=True))
        assert client.post("/reviews/next/", {"role": "annotator"}).status_code == 404
        assert not Assignment.objects.exists()


class TestSaving:
    @both_ways
    def test_a_draft_is_stored_unchanged_and_the_lease_renewed(
        self, client: Client, held: Assignment, htmx: bool
    ) -> None:
        soon, earlier = timezone.now() + timedelta(seconds=1), timezone.now() - timedelta(minutes=5)
        Assignment.objects.filter(pk=held.pk).update(lease_until=soon, created=earlier)
        typed = {**FINDING, "text": "Twice,\r\nnot once."}
        response = send(client, held, typed, htmx=htmx, note="A\r\nnote.", active_seconds="40")
        kept = {**DRAFT, "findings": [{**FINDING, "text": "Twice,\nnot once."}], "note": "A\nnote."}
        assert (held.draft, held.draft_version, held.active_seconds) == (kept, 1, 40)
        assert held.lease_until is not None
        assert held.lease_until > timezone.now() + timedelta(minutes=5)
        if htmx:
            text = response.content.decode()
            saved = r'id="save-state"[^>]*>\s*<span>Saved \d\d:\d\d</span\s*><input [^>]*name="version" [^>]*value="1"'
            assert (re.search(saved, text) is not None, "<html" in text) == (True, False)
        else:
            assert response.headers["Location"] == f"/reviews/label/{held.pk}/"

    @both_ways
    def test_a_stale_tab_shows_both_drafts_and_overwrites_nothing(
        self, client: Client, held: Assignment, htmx: bool
    ) -> None:
        send(client, held, note="the other tab")
        response = send(client, held, htmx=htmx, note="this tab")
        text = response.content.decode()
        assert (response.status_code, held.draft["note"]) == (409, "the other tab")
        assert "Another tab or device has saved newer text." in text
        assert ("the other tab" in text, "this tab</textarea>" in text) == (True, not htmx)
        assert re.search(r'name="version" value="1" data-act="keep-mine"', text)
        # A script saves again only after the user has chosen; a form without a script is sent deliberately.
        assert re.search(rf'type="hidden" name="version" form="label-form" value="{0 if htmx else 1}"', text)
        assert send(client, held, note="this tab", version="1").status_code == 302
        assert held.draft["note"] == "this tab"

    @both_ways
    @pytest.mark.parametrize("act", ["save", "lock"])
    def test_a_lost_item_keeps_its_draft(self, client: Client, held: Assignment, act: str, htmx: bool) -> None:
        Assignment.objects.filter(pk=held.pk).update(**EXPIRED)
        for _ in range(2):
            reviewed(held.case, ready(), "CC")
        Case.objects.filter(pk=held.case_id).update(state=CaseState.AGREED)
        response = send(client, held, htmx=htmx, act=act)
        assert (response.status_code, held.draft["note"]) == (410 if htmx else 302, "A note.")
        text = response.content.decode() if htmx else page_of(client, held)
        assert 'name="act" value="resume"' in text
        assert "A note." in page_of(client, held)
        assert not Review.objects.filter(reviewer=held.reviewer).exists()

    @both_ways
    def test_a_refused_save_is_reported_beside_the_buttons(self, client: Client, held: Assignment, htmx: bool) -> None:
        response = send(client, held, htmx=htmx, act="save", confidence="4")
        assert response.status_code == 422
        assert re.search(r'id="save-state"[^>]*>\s*<span>Not saved</span', response.content.decode())

    @pytest.mark.parametrize("act", ["save", "lock"])
    def test_unexpected_input_is_refused_and_shown(self, client: Client, held: Assignment, act: str) -> None:
        response = send(client, held, act=act, confidence="4")
        assert (response.status_code, "Nothing that you typed is lost." in response.content.decode()) == (422, True)
        assert (held.draft, held.state, Review.objects.count()) == ({}, AssignmentState.ACTIVE, 0)

    def test_fifty_findings_are_accepted_and_whitespace_can_be_ignored(self, client: Client, held: Assignment) -> None:
        assert django_settings.DATA_UPLOAD_MAX_NUMBER_FIELDS >= 20 + 5 * MAX_FINDINGS
        response = send(client, held, *[FINDING] * (MAX_FINDINGS - 1), whitespace_to="ignored")
        assert len(held.draft["findings"]) == MAX_FINDINGS - 1
        assert response.headers["Location"] == f"/reviews/label/{held.pk}/?whitespace=ignored"
        page = client.get(response.headers["Location"]).content.decode()
        assert 'name="whitespace" form="label-form" value="ignored"' in page


@pytest.mark.parametrize(
    "changes",
    [
        {"label": "XX"}, {"confidence": "4"}, {"note": "x" * 10_001}, {"note": "NUL \0"}, {"paper_page": "0"},
        {"version": "x"}, {"active_seconds": "-1"}, {"finding-0-side": "judge"}, {"finding-0-text": "x" * 2001},
        {"finding-0-start": "9" * 13}, {"finding-0-error_class": "other"}, {"finding-TOTAL_FORMS": "x"},
        {"finding-TOTAL_FORMS": str(MAX_FINDINGS + 1)}, {"tab": "x" * 21},
    ],
)  # fmt: skip
def test_the_form_refuses_unexpected_input(changes: dict[str, str]) -> None:
    form = LabelForm(form_of(**changes))  # type: ignore[arg-type]
    assert (form.is_valid(), bool(form.all_errors)) == (False, True)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(
    st.dictionaries(st.sampled_from([*form_of(), "finding-2-text"]), texts | st.sampled_from(["2", "LC", "candidate"]))
)
def test_any_input_is_kept_or_refused(changes: dict[str, str]) -> None:
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


class TestLocking:
    def test_a_label_is_locked_and_leads_back(self, client: Client, held: Assignment) -> None:
        assert send(client, held, act="lock").headers["Location"] == "/reviews/"
        review = Review.objects.get(assignment=held)
        assert (review.label, review.confidence, review.note) == ("LI", 3, "A note.")
        assert review.findings == [{**FINDING, "start": 2, "end": 3}]
        assert "Label locked." in client.get("/reviews/").content.decode()

    @both_ways
    def test_locking_can_lead_to_the_next_item(self, client: Client, held: Assignment, htmx: bool) -> None:
        case_of(answers()[0])
        response = send(client, held, htmx=htmx, act="next")
        following = Assignment.objects.exclude(pk=held.pk).get()
        place = f"/reviews/label/{following.pk}/"
        if not htmx:
            assert response.headers["Location"] == place
            return
        assert f'"path": "{place}"' in response.headers["HX-Location"]
        last = client.post(place, form_of({}, act="next", label="CC"), headers=HTMX)
        assert last.headers["HX-Redirect"] == "/reviews/"
        assert "Label locked. Nothing waits for you now." in client.get("/reviews/").content.decode()

    def test_missing_fields_are_shown_and_the_input_is_kept(self, client: Client, held: Assignment) -> None:
        response = send(client, held, {**FINDING, "end": "99"}, act="lock", confidence="", note="kept <note>")
        text = response.content.decode()
        assert (response.status_code, "Not locked yet." in text, Review.objects.exists()) == (422, True, False)
        assert re.search(r'id="save-state"[^>]*>\s*<span>Not locked</span', text)
        assert re.search(r'id="confidence-error">Choose your confidence.<', text)
        beside = re.search(r'<li class="finding has-errors".*?</li>', text, re.DOTALL)
        assert beside is not None
        assert "Finding 1 is on lines 2 to 99" in beside[0]
        kept = ("kept &lt;note&gt;</textarea>", "Twice, not once.</textarea>", 'value="99"')
        assert [words for words in kept if words not in text] == []

    def test_practice_leads_to_the_known_answer_and_an_adjudicator_to_the_evidence(
        self, client: Client, annotator: Reviewer, adjudicator: Reviewer, task: TaskRevision
    ) -> None:
        sign_in(client, annotator)
        facts = {"kind": CaseKind.PRACTICE, "state": CaseState.QUEUED, "known_label": "CC", "explanation": "Because."}
        assignment = held_by(annotator, task, case=facts)
        response = send(client, assignment, htmx=True, act="next")
        assert response.headers["HX-Redirect"] == f"/reviews/practice/{assignment.pk}/"
        sign_in(client, adjudicator)
        facts = {"state": CaseState.ADJUDICATING}
        blind = assigned(case_of(assignment.case.implementation, **facts), adjudicator, role=Role.ADJUDICATOR)
        assert send(client, blind, act="next").headers["Location"] == f"/reviews/decide/{blind.pk}/"
        assert blind.state == AssignmentState.EVIDENCE

    def test_changed_guidelines_must_be_read_before_locking(self, client: Client, held: Assignment) -> None:
        guideline(2, text="New.", changes="All of it.")
        assert send(client, held, act="lock").headers["Location"] == "/reviews/guidelines/2/?since=1"
        assert send(client, held, htmx=True, act="lock").headers["HX-Redirect"] == "/reviews/guidelines/2/?since=1"
        assert (held.draft["note"], held.state) == ("A note.", AssignmentState.ACTIVE)

    def test_a_form_sent_after_another_tab_locked_is_shown(self, client: Client, held: Assignment) -> None:
        send(client, held, act="lock")
        changed: list[dict[str, Any]] = [{"act": "lock", "confidence": ""}, {"act": "lock"}, {"confidence": "x"}, {}]
        for changes in changed:
            response = send(client, held, **{"note": "typed <later>", **changes})
            page = response.content.decode()
            assert (response.status_code, "<textarea" in page, "typed &lt;later&gt;" in page) == (410, False, True)
        for reason in ("", REASON):
            address = f"/reviews/label/{held.pk}/"
            page = client.post(address, {"act": "skip", "reason": reason}, follow=True).content.decode()
            assert "Your label of this item is locked" in page
        assert Review.objects.get().note == "A note."


class TestReleasing:
    def test_handing_back_keeps_the_draft_for_resuming(self, client: Client, held: Assignment) -> None:
        send(client, held)
        assert send(client, held, act="return").headers["Location"] == "/reviews/"
        assert (held.state, held.draft) == (AssignmentState.RETURNED, DRAFT)
        assert send(client, held, act="resume").headers["Location"] == f"/reviews/label/{held.pk}/"
        assert (held.state, held.draft) == (AssignmentState.ACTIVE, DRAFT)

    def test_skipping_needs_a_reason_and_keeps_it_on_error(self, client: Client, held: Assignment) -> None:
        response = send(client, held, act="skip", reason="too <hard")
        assert response.status_code == 422
        page = response.content.decode()
        dialog = page[page.index('<dialog id="leave"') :].split("</dialog>")[0]
        # Otherwise scripts close the dialog, which would hide the error and the input.
        assert re.match(r"<dialog [^>]* data-opens>", dialog)
        assert re.search(r'autofocus\s[^>]*aria-describedby="skip-help skip-error">too &lt;hard</textarea>', dialog)
        assert send(client, held, act="skip", reason=REASON).headers["Location"] == "/reviews/"
        assert (held.state, held.skip_reason) == (AssignmentState.SKIPPED, REASON)


def test_others_cannot_act(client: Client, held: Assignment) -> None:
    acts = ["save", "lock", "next", "resume", "return", "skip"]
    for user in others():
        client.force_login(user)
        assert [send(client, held, act=act).status_code for act in acts] == [404] * 6
    client.logout()
    strict = Client(enforce_csrf_checks=True)
    sign_in(strict, held.reviewer)
    for act in acts:
        assert send(client, held, act=act).headers["Location"].startswith("/accounts/login/")
        assert send(client, held, act=act, htmx=True).status_code == 401
        assert send(strict, held, act=act).status_code == 403
    assert (held.state, held.draft) == (AssignmentState.ACTIVE, {})


@both_ways
def test_responses_reveal_nothing_hidden(client: Client, held: Assignment, htmx: bool) -> None:
    reviewed(held.case, ready(pseudonym="Hidden Peer"), "LI", note="hidden peer note")
    responses = [
        send(client, held, htmx=htmx, **changes)
        for changes in ({}, {"note": "other"}, {"label": "XX"}, {"act": "lock", "label": ""}, {"act": "lock"}, {})
    ]
    statuses = [200, 409, 422, 422, 200, 410] if htmx else [302, 409, 422, 422, 302, 410]
    assert [response.status_code for response in responses] == statuses
    texts = " ".join(str(response.headers) + response.content.decode() for response in responses)
    assert [word for word in (*HIDDEN, "Hidden Peer", "hidden peer note") if word in texts] == []
