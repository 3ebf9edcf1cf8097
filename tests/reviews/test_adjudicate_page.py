"""Adjudication: who sees the evidence, what becomes of what was typed, ending reviews and lifting flags."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.enums import AssignmentState, CaseState, ReasonCode, Role
from reviews.models import Assignment, Case, Decision, TaskFlag
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
HIDDEN = ("Marker One", "Marker Two", "Marker System", "Marker Labs", "marker-owner", "/submissions/")


@pytest.fixture
def case() -> Case:
    """A disputed case: LI and CC by two annotators, judged, with a failing test."""
    system = SystemFactory(name="Marker System", organisation="Marker Labs")
    (answer,) = answers(system=system, owner=UserFactory(username="marker-owner"))
    vote(judged(answer, JudgeFactory(), "LC"), 1, "LC", rationale=["A judge's marked reason."])
    facts = {"seed": 7, "index": 0, "public": True, "outcome": "wrong_output", "error": ""}
    TestRunFactory(implementation=answer, done="wrong_output", cases=[{**facts, "difference": "1 of 4 differ"}])
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
def as_adjudicator(client: Client, adjudicator: Reviewer) -> Any:
    client.force_login(adjudicator.user)  # type: ignore[arg-type]
    return client


def address(assignment: Assignment, name: str = "adjudicate") -> str:
    return reverse(name, args=[assignment.pk])


def decide(client: Client, assignment: Assignment, **changed: str) -> Any:
    return client.post(address(assignment, "adjudicate_decide"), {**DECISION, **changed})


class TestEvidence:
    def test_everything_is_there_but_whose_it_is(self, as_adjudicator: Any, assignment: Assignment) -> None:
        response = as_adjudicator.get(address(assignment))
        text = text_of(response)
        for shown in ("Annotator A", "Annotator B", "A marked note.", "Your blind label", "1 of 4 differ"):
            assert shown in text
        assert "A judge&#x27;s marked reason." in text
        assert [hidden for hidden in HIDDEN if hidden in response.content.decode()] == []
        assert "no-store" in response["Cache-Control"]

    @pytest.mark.parametrize("name", ["adjudicate", "adjudicate_decide", "adjudicate_beat"])
    def test_it_is_nobody_elses(self, client: Client, assignment: Assignment, name: str) -> None:
        annotator = assignment.case.reviews.filter(role=Role.ANNOTATOR)[0].reviewer
        send: Any = client.get if name == "adjudicate" else client.post
        assert send(address(assignment, name), DECISION)["Location"].split("?")[0] == "/accounts/login/"
        for user in (ready(adjudicator=True).user, annotator.user, UserFactory(), UserFactory(is_staff=True)):
            client.force_login(user)  # type: ignore[arg-type]
            assert send(address(assignment, name), DECISION).status_code == 404
        assert not Decision.objects.exists()
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(assignment.reviewer.user)  # type: ignore[arg-type]
        assert strict.post(address(assignment, name), DECISION).status_code in {403, 405}

    def test_before_the_own_label_there_is_no_evidence(
        self, as_adjudicator: Any, case: Case, adjudicator: Reviewer
    ) -> None:
        early = assigned(case, adjudicator, role=Role.ADJUDICATOR)
        for response in (as_adjudicator.get(address(early)), decide(as_adjudicator, early)):
            assert (response.status_code, response["Location"]) == (302, reverse("label", args=[early.pk]))
        assert not Decision.objects.exists()

    def test_an_annotators_assignment_has_no_such_page(self, as_adjudicator: Any, adjudicator: Reviewer) -> None:
        own = assigned(case_of(), adjudicator, state=AssignmentState.EVIDENCE)
        assert as_adjudicator.get(address(own)).status_code == 404

    def test_an_expired_one_shows_nothing_of_it(self, as_adjudicator: Any, assignment: Assignment) -> None:
        Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.EXPIRED)
        text = text_of(as_adjudicator.get(address(assignment)))
        assert ("ran out" in text, "A marked note." in text) == (True, False)


class TestDeciding:
    def test_it_closes_the_case_and_the_page(self, as_adjudicator: Any, assignment: Assignment, case: Case) -> None:
        assert decide(as_adjudicator, assignment)["Location"] == reverse("reviews")
        case.refresh_from_db()
        made = Decision.objects.get()
        assert (case.state, made.label, made.reasons, made.note) == (CaseState.FINAL, "LI", ["annotator_slip"], NOTE)
        assert as_adjudicator.get(address(assignment))["Location"] == reverse("reviews")

    @pytest.mark.parametrize(
        ("changed", "says"),
        [
            ({"label": ""}, "Choose the final label."),
            ({"label": "XX"}, "XX is not one of the available choices."),
            ({"reasons": []}, "Choose why the raters differed."),
            ({"note": "short"}, "Explain the decision in 10 to 10000 characters"),
            ({"note": "reversed \u202e text of some length"}, "U+202E"),
        ],
    )
    def test_what_is_wrong_is_said_and_nothing_typed_is_lost(
        self, as_adjudicator: Any, assignment: Assignment, changed: dict[str, Any], says: str
    ) -> None:
        response = decide(as_adjudicator, assignment, **changed)
        page, given = response.content.decode(), {**DECISION, **changed}
        assert (response.status_code, says in text_of(response), given["note"] in page) == (422, True, True)
        assert page.count(" checked") == len({"label", "reasons"} - changed.keys())
        assert not Decision.objects.exists()

    def test_a_decision_by_somebody_else_meanwhile_leaves_what_was_typed(
        self, as_adjudicator: Any, assignment: Assignment, case: Case
    ) -> None:
        Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.EXPIRED)
        Case.objects.update(state=CaseState.FINAL, label="CC")
        decided(case, ready(adjudicator=True), "CC")
        response = decide(as_adjudicator, assignment)
        page = response.content.decode()
        assert (response.status_code, NOTE in page, "A marked note." in page) == (410, True, False)
        assert Decision.objects.get().label == "CC"

    def test_a_heartbeat_renews_the_lease_until_it_is_lost(self, as_adjudicator: Any, assignment: Assignment) -> None:
        soon = timezone.now() + timedelta(seconds=5)
        Assignment.objects.filter(pk=assignment.pk).update(lease_until=soon)
        response = as_adjudicator.post(address(assignment, "adjudicate_beat"))
        assignment.refresh_from_db()
        assert assignment.lease_until is not None
        assert assignment.lease_until > soon
        assert response.json() == {"lease_until": assignment.lease_until.isoformat()}
        Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.EXPIRED)
        response = as_adjudicator.post(address(assignment, "adjudicate_beat"))
        assert (response.status_code, "ran out" in response.json()["error"]) == (410, True)


class TestMaintainers:
    @pytest.fixture(params=["case_void", "flag_lift"])
    def action(self, request: pytest.FixtureRequest, case: Case) -> str:
        """The address that ends a review, or lifts a flag."""
        decision = decided(case, ready(adjudicator=True), "LI", reasons=["bad_test"])
        revision = case.implementation.revision
        flag = TaskFlag.objects.create(revision=revision, decision=decision, reason=ReasonCode.BAD_TEST)
        return reverse(request.param, args=[case.pk if request.param == "case_void" else flag.pk])

    def done(self) -> bool:
        states = Case.objects.get().state == CaseState.VOID, TaskFlag.objects.get().lifted is not None
        return any(states)

    def test_it_takes_a_reason_and_leads_back_to_this_site_only(self, as_maintainer: Any, action: str) -> None:
        refused = as_maintainer.post(action, {"reason": " ", "next": "//evil.example/"})
        assert (refused.status_code, "This field is required." in text_of(refused), self.done()) == (422, True, False)
        assert f'href="{reverse("reviews")}"' in refused.content.decode()
        taken = as_maintainer.post(action, {"reason": "The environment was broken.", "next": "/cases/"})
        assert (taken.status_code, taken["Location"], self.done()) == (302, "/cases/", True)

    @pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
    def test_it_leads_nowhere_else(self, as_maintainer: Any, action: str, elsewhere: str) -> None:
        response = as_maintainer.post(action, {"reason": "The test was mended.", "next": elsewhere})
        assert response["Location"] == reverse("reviews")

    def test_nobody_else_may(self, client: Client, case: Case, action: str, adjudicator: Reviewer) -> None:
        for user in (case.implementation.submission.owner, adjudicator.user):
            client.force_login(user)  # type: ignore[arg-type]
            assert client.post(action, {"reason": "The test was mended."}).status_code == 404
        assert not self.done()
