"""Adjudication: who sees the evidence, what a decision needs, what becomes of what was typed, ending and lifting."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.models import TaskRevision
from reviews.enums import AssignmentState, CaseState, ReasonCode, Role
from reviews.models import Assignment, Case, Decision, TaskFlag
from submissions.enums import Verb
from submissions.models import AuditEvent
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import JudgeFactory, judged, vote
from tests.leaderboard.showing import text_of
from tests.reviews.factories import answers, assigned, case_of, decided, ready, reviewed
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db
NOTE = "Equation 3 of the paper takes the mean over tokens."
DECISION = {"label": "LI", "reasons": "annotator_slip", "note": NOTE}


@pytest.fixture
def case() -> Case:
    """A disputed case: LI and CC by two annotators, judged, with a failing test."""
    system = SystemFactory(name="Marker System", organisation="Marker Labs")
    (answer,) = answers(system=system, owner=UserFactory(username="marker-owner"))
    row = judged(answer, JudgeFactory(), "LC")
    vote(row, 1, "LC", rationale=["A judge's marked reason."])
    failing = {
        "seed": 7,
        "index": 0,
        "public": True,
        "outcome": "wrong_output",
        "difference": "1 of 4 differ",
        "error": "",
    }
    TestRunFactory(implementation=answer, done="wrong_output", cases=[failing])
    made = case_of(answer, state=CaseState.ADJUDICATING)
    reviewed(made, ready(pseudonym="Marker One"), "LI", note="A marked note.")
    reviewed(made, ready(pseudonym="Marker Two"), "CC")
    return made


@pytest.fixture
def assignment(case: Case, adjudicator: Reviewer) -> Assignment:
    """The adjudicator has locked the own blind label."""
    made = reviewed(case, adjudicator, "LC", role=Role.ADJUDICATOR).assignment
    assert made is not None
    return made


@pytest.fixture
def as_adjudicator(client: Client, adjudicator: Reviewer) -> Client:
    client.force_login(adjudicator.user)  # type: ignore[arg-type]
    return client


def address(assignment: Assignment, name: str = "adjudicate") -> str:
    return reverse(name, args=[assignment.pk])


def decide(client: Client, assignment: Assignment, **changed: str) -> Any:
    return client.post(address(assignment, "adjudicate_decide"), {**DECISION, **changed})


def test_what_the_instruction_has_in_backticks_is_code(as_adjudicator: Client, assignment: Assignment) -> None:
    TaskRevision.objects.update(instruction="Implement `double` of <x>.")
    text = as_adjudicator.get(address(assignment)).content.decode()
    assert '<p class="instruction">Implement <code>double</code> of &lt;x&gt;.</p>' in text


class TestEvidence:
    def test_everything_is_there_but_whose_it_is(self, as_adjudicator: Client, assignment: Assignment) -> None:
        response: Any = as_adjudicator.get(address(assignment))
        assert response.status_code == 200
        text = text_of(response)
        for shown in ("Annotator A", "Annotator B", "A marked note.", "Your blind label", "1 of 4 differ"):
            assert shown in text
        assert "A judge&#x27;s marked reason." in text
        page = response.content.decode()
        for hidden in ("Marker One", "Marker Two", "Marker System", "Marker Labs", "marker-owner", "/submissions/"):
            assert hidden not in page
        assert "no-store" in response["Cache-Control"]

    def test_reasons_are_explained(self, as_adjudicator: Client, assignment: Assignment) -> None:
        text = text_of(as_adjudicator.get(address(assignment)))  # type: ignore[arg-type]
        assert text.count("Flags the task and every score that rests on it") == 2
        assert all(str(label).capitalize().replace("'", "&#x27;") in text for label in ReasonCode.labels)

    @pytest.mark.parametrize("name", ["adjudicate", "adjudicate_decide", "adjudicate_beat"])
    def test_it_is_nobody_elses(self, assignment: Assignment, name: str) -> None:
        annotator = assignment.case.reviews.filter(role=Role.ANNOTATOR).first()
        assert annotator is not None
        others = [ready(adjudicator=True).user, annotator.reviewer.user, UserFactory(), UserFactory(is_staff=True)]
        for user in others:
            client = Client()
            client.force_login(user)  # type: ignore[arg-type]
            send = client.get if name == "adjudicate" else client.post
            response: Any = send(address(assignment, name), DECISION)
            assert response.status_code == 404
        assert not Decision.objects.exists()

    def test_the_signed_out_are_asked_to_sign_in(self, client: Client, assignment: Assignment) -> None:
        response: Any = client.get(address(assignment))
        assert (response.status_code, response["Location"].split("?")[0]) == (302, "/accounts/login/")

    def test_before_the_own_label_there_is_no_evidence(
        self, as_adjudicator: Client, case: Case, adjudicator: Reviewer
    ) -> None:
        early = assigned(case, adjudicator, role=Role.ADJUDICATOR)
        for response in (as_adjudicator.get(address(early)), decide(as_adjudicator, early)):
            assert (response.status_code, response["Location"]) == (302, reverse("label", args=[early.pk]))
        assert not Decision.objects.exists()

    def test_an_annotators_assignment_has_no_such_page(self, as_adjudicator: Client, adjudicator: Reviewer) -> None:
        own = assigned(case_of(), adjudicator, state=AssignmentState.EVIDENCE)
        assert as_adjudicator.get(address(own)).status_code == 404

    def test_after_the_decision_it_is_over(self, as_adjudicator: Client, assignment: Assignment) -> None:
        decide(as_adjudicator, assignment)
        response: Any = as_adjudicator.get(address(assignment))
        assert (response.status_code, response["Location"]) == (302, reverse("reviews"))

    def test_an_expired_one_shows_nothing_of_it(self, as_adjudicator: Client, assignment: Assignment) -> None:
        Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.EXPIRED)
        text = text_of(as_adjudicator.get(address(assignment)))  # type: ignore[arg-type]
        assert "ran out" in text
        assert "A marked note." not in text


class TestDeciding:
    def test_it_settles_the_case(self, as_adjudicator: Client, assignment: Assignment, case: Case) -> None:
        response = decide(as_adjudicator, assignment)
        assert (response.status_code, response["Location"]) == (302, reverse("reviews"))
        case.refresh_from_db()
        assert (case.state, case.label, case.source) == (CaseState.FINAL, "LI", "decision")
        made = Decision.objects.get()
        assert (made.label, made.reasons, made.note) == ("LI", ["annotator_slip"], NOTE)

    @pytest.mark.parametrize(
        ("changed", "says"),
        [
            ({"label": ""}, "Choose the final label."),
            ({"label": "XX"}, "XX is not one of the available choices."),
            ({"reasons": []}, "Choose why the raters differed."),
            ({"note": "short"}, "at least 10 characters"),
            ({"note": "reversed \u202e text of some length"}, "U+202E"),
        ],
        ids=["no label", "a wrong label", "no reason", "a short note", "a hidden mark"],
    )
    def test_what_is_wrong_is_said_and_nothing_typed_is_lost(
        self, as_adjudicator: Client, assignment: Assignment, changed: dict[str, Any], says: str
    ) -> None:
        response = decide(as_adjudicator, assignment, **changed)
        assert response.status_code == 422
        page = response.content.decode()
        assert says in text_of(response)
        for name, value in {**DECISION, **changed}.items():
            if name == "note":
                assert value in page
            elif value and name not in changed:
                assert re.search(rf'name="{name}" value="{value}"[^>]* checked', page)
        assert not Decision.objects.exists()

    def test_a_decision_by_somebody_else_meanwhile(
        self, as_adjudicator: Client, assignment: Assignment, case: Case
    ) -> None:
        Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.EXPIRED)
        Case.objects.update(state=CaseState.FINAL, label="CC")
        decided(case, ready(adjudicator=True), "CC")
        response = decide(as_adjudicator, assignment)
        assert response.status_code == 410
        assert NOTE in response.content.decode()
        assert "A marked note." not in response.content.decode()
        assert Decision.objects.get().label == "CC"

    def test_a_lease_that_ran_out_is_no_reason_to_refuse(self, as_adjudicator: Client, assignment: Assignment) -> None:
        Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(hours=1))
        assert decide(as_adjudicator, assignment).status_code == 302
        assert Decision.objects.get().label == "LI"

    def test_a_get_of_the_action_leads_back(self, as_adjudicator: Client, assignment: Assignment) -> None:
        response: Any = as_adjudicator.get(address(assignment, "adjudicate_decide"))
        assert (response.status_code, response["Location"]) == (302, address(assignment))


class TestHeartbeat:
    def test_it_renews_the_lease(self, as_adjudicator: Client, assignment: Assignment) -> None:
        soon = timezone.now() + timedelta(seconds=5)
        Assignment.objects.filter(pk=assignment.pk).update(lease_until=soon)
        response: Any = as_adjudicator.post(address(assignment, "adjudicate_beat"))
        assignment.refresh_from_db()
        assert assignment.lease_until is not None
        assert assignment.lease_until > soon
        assert response.json() == {"lease_until": assignment.lease_until.isoformat()}

    def test_a_lost_one_is_told_so(self, as_adjudicator: Client, assignment: Assignment) -> None:
        Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.EXPIRED)
        response: Any = as_adjudicator.post(address(assignment, "adjudicate_beat"))
        assert response.status_code == 410
        assert "ran out" in response.json()["error"]

    def test_other_sites_cannot_send_it(self, adjudicator: Reviewer, assignment: Assignment) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(adjudicator.user)  # type: ignore[arg-type]
        assert client.post(address(assignment, "adjudicate_beat")).status_code == 403


class TestMaintainers:
    @pytest.fixture
    def as_maintainer(self, client: Client) -> Client:
        client.force_login(UserFactory(is_staff=True))
        return client

    @pytest.fixture
    def flag(self, case: Case) -> TaskFlag:
        decision = decided(case, ready(adjudicator=True), "LI", reasons=["bad_test"])
        return TaskFlag.objects.create(
            revision=case.implementation.revision, decision=decision, reason=ReasonCode.BAD_TEST
        )

    def test_a_review_is_ended_with_a_reason(self, as_maintainer: Client, case: Case) -> None:
        there = case.implementation.get_absolute_url()
        typed = {"reason": "A fault of ours.", "next": there}
        response: Any = as_maintainer.post(reverse("case_void", args=[case.pk]), typed)
        assert (response.status_code, response["Location"]) == (302, there)
        case.refresh_from_db()
        assert case.state == CaseState.VOID
        assert AuditEvent.objects.get(verb=Verb.VOIDED).reason == "A fault of ours."

    def test_a_flag_is_lifted_with_a_reason(self, as_maintainer: Client, flag: TaskFlag) -> None:
        response: Any = as_maintainer.post(reverse("flag_lift", args=[flag.pk]), {"reason": "The test was mended."})
        assert (response.status_code, response["Location"]) == (302, reverse("reviews"))
        flag.refresh_from_db()
        assert (flag.lifted is not None, flag.lifted_because) == (True, "The test was mended.")

    @pytest.mark.parametrize("name", ["case_void", "flag_lift"])
    def test_without_a_reason_nothing_happens(
        self, as_maintainer: Client, case: Case, flag: TaskFlag, name: str
    ) -> None:
        pk = case.pk if name == "case_void" else flag.pk
        response: Any = as_maintainer.post(reverse(name, args=[pk]), {"reason": " ", "next": "//evil.example/"})
        assert response.status_code == 422
        assert "This field is required." in text_of(response)
        assert f'href="{reverse("reviews")}"' in response.content.decode()
        assert (Case.objects.get().state, TaskFlag.objects.get().lifted) == (CaseState.ADJUDICATING, None)

    @pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
    def test_it_leads_back_to_this_site_only(self, as_maintainer: Client, flag: TaskFlag, elsewhere: str) -> None:
        typed = {"reason": "The test was mended.", "next": elsewhere}
        response: Any = as_maintainer.post(reverse("flag_lift", args=[flag.pk]), typed)
        assert response["Location"] == reverse("reviews")

    @pytest.mark.parametrize("name", ["case_void", "flag_lift"])
    def test_nobody_else_may(
        self, client: Client, case: Case, flag: TaskFlag, adjudicator: Reviewer, name: str
    ) -> None:
        pk = case.pk if name == "case_void" else flag.pk
        for user in (case.implementation.submission.owner, adjudicator.user):
            client.force_login(user)  # type: ignore[arg-type]
            assert client.post(reverse(name, args=[pk]), {"reason": "Because."}).status_code == 404
        assert (Case.objects.get().state, TaskFlag.objects.get().lifted) == (CaseState.ADJUDICATING, None)

    @pytest.mark.parametrize("name", ["case_void", "flag_lift"])
    def test_a_get_leads_home(self, as_maintainer: Client, name: str) -> None:
        response: Any = as_maintainer.get(reverse(name, args=[1]))
        assert (response.status_code, response["Location"]) == (302, reverse("reviews"))
