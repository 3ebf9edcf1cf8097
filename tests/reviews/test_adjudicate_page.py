"""Pages of adjudication: the evidence and who sees it, drafts, voiding cases and lifting flags."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from evaluator.testing.shown_outcomes import PrivateCases
from reviews.cases.evidence import evidence, shown_tests, shuffled
from reviews.enums import AssignmentState, CaseState, FinalSource, ReasonCode, Role, TriggerKind
from reviews.models import Assignment, Case, Decision, TaskFlag, Trigger
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import JudgeFactory, judged, vote
from tests.leaderboard.showing import text_of
from tests.reviews.factories import FINDING, answers, assigned, case_of, decided, ready, reviewed
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from evaluator.models import JudgeConfig
    from reviews.models import Assignment, Case, Reviewer
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db
CODE: Any = {"candidate": "def double(x):\n    return 2 * x", "golden": "def double(x):\n    return x + x"}


def row(seed: int, outcome: str, *, public: bool = True, difference: str = "") -> dict[str, Any]:
    return {"seed": seed, "index": 0, "public": public, "outcome": outcome, "difference": difference, "error": ""}


def disputed(reviewer: Reviewer, answer: Implementation | None = None, **facts: Any) -> tuple[Case, Assignment]:
    """A case with annotators' labels LI and CC, and the adjudicator's LC."""
    made = case_of(answer, state=CaseState.ADJUDICATING, **facts)
    golden = {**FINDING, "side": "golden", "start": 2, "end": 2, "error_class": ""}
    reviewed(made, ready(), "LI", findings=[dict(FINDING), golden], note="Not the paper's formula.")
    reviewed(made, ready(), "CC", confidence=1)
    assignment = reviewed(made, reviewer, "LC", role=Role.ADJUDICATOR).assignment
    assert assignment is not None
    return made, assignment


def test_labels_are_anonymous_and_findings_quote_their_lines(adjudicator: Reviewer) -> None:
    made, assignment = disputed(adjudicator)
    shown = evidence(assignment, **CODE)
    assert [name for name, _ in shown["labels"]] == ["A", "B"]
    by_label = {label.label: label for _, label in shown["labels"]}
    assert set(by_label) == {"LI", "CC"}
    assert [(each.where, each.quoted, each.error_class) for each in by_label["LI"].findings] == [
        ("candidate, lines 1 to 2", CODE["candidate"], "problem not fully understood"),
        ("golden function, line 2", "    return x + x", ""),
    ]
    assert by_label["LI"].note == "Not the paper's formula."
    assert (by_label["CC"].confidence, by_label["CC"].meaning) == ("low", "completely correct")
    assert (shown["own"].label, shown["own"].confidence) == ("LC", "high")
    for review in made.reviews.select_related("reviewer"):
        assert review.reviewer.pseudonym not in repr(shown)


def test_the_order_is_stable_and_differs_between_readers_and_cases() -> None:
    """Each order of two labels has probability one half, so twenty cases have both."""
    made = case_of()
    for label in ("LI", "CC"):
        reviewed(made, ready(), label)
    listed = list(made.reviews.all())
    readers = [ready(adjudicator=True) for _ in range(20)]
    orders = [[review.label for review in shuffled(listed, made, reader)] for reader in readers]
    assert {tuple(order) for order in orders} == {("LI", "CC"), ("CC", "LI")}
    assert orders == [[review.label for review in shuffled(reversed(listed), made, reader)] for reader in readers]


def test_failed_public_cases_are_shown_and_private_ones_counted() -> None:
    (answer,) = answers()
    assert shown_tests(answer).badge.text == "waiting"
    cases = [
        row(11, "passed"),
        row(12, "wrong_output", difference="1 of 4 values differ\n  value[2]"),
        row(424242, "passed", public=False),
        row(434343, "wrong_output", public=False, difference="expected 3.14159"),
    ]
    TestRunFactory(implementation=answer, done="wrong_output", reason="1 of 2 public cases failed", cases=cases)
    shown = shown_tests(answer)
    assert (shown.badge.text, shown.reason) == ("wrong output", "1 of 2 public cases failed")
    assert (shown.public, shown.private, shown.names_tests) == (2, PrivateCases(1, 2), False)
    assert [(row.seed, row.headline, row.opened) for row in shown.failed] == [(12, "1 of 4 values differ", True)]
    assert [secret for secret in ("3.14159", "434343") if secret in repr(shown)] == []


def test_judges_reasons_and_the_triggers_are_shown(adjudicator: Reviewer, judge: JudgeConfig) -> None:
    made, assignment = disputed(adjudicator)
    row = judged(made.implementation, judge, "LI")
    vote(row, 1, "LI", rationale=["It never squares."])
    vote(row, 2)
    Trigger.objects.create(case=made, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
    Trigger.objects.create(case=made, kind=TriggerKind.APPEAL, detail="Equation 3 says so.", raised_by=UserFactory())
    shown = evidence(assignment, **CODE)
    assert [vote.rationale for vote in shown["judges"][0].counted_votes] == [["It never squares."], []]
    assert len(shown["judges"][0].abstentions) == 1
    assert [(why.get_kind_display(), why.sampled, why.detail) for why in shown["triggers"]] == [
        ("sampled at random", "drawn with probability 10 %", ""),
        ("an appeal", "", "Equation 3 says so."),
    ]


def test_earlier_rounds_are_shown_anonymously(adjudicator: Reviewer) -> None:
    (answer,) = answers()
    first = case_of(answer, state=CaseState.REOPENED, label="LI", source=FinalSource.DECISION, closed=timezone.now())
    before = ready(adjudicator=True)
    decided(first, before, "LI", reasons=["judge_error"], note="The mean is over tokens.")
    shown = evidence(disputed(adjudicator, answer, round=2)[1], **CODE)
    (earlier,) = shown["earlier"]
    assert (earlier, earlier.decision.reason_names) == (first, "judge's error")


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
    """The adjudicator's assignment with a locked blind label."""
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
    def test_the_page_shows_everything_but_the_owner(self, as_adjudicator: Any, assignment: Assignment) -> None:
        response = as_adjudicator.get(address(assignment))
        text = text_of(response)
        for shown in ("Annotator A", "Annotator B", "A marked note.", "Your blind label", "1 of 4 differ"):
            assert shown in text
        explained = [words for reason in ReasonCode for words in (reason.label.capitalize(), reason.when)]
        assert [words for words in explained if escape(words) not in response.content.decode()] == []
        assert "A judge&#x27;s marked reason." in text
        assert [hidden for hidden in HIDDEN if hidden in response.content.decode()] == []
        assert "no-store" in response["Cache-Control"]

    @pytest.mark.parametrize("name", ["adjudicate", "adjudicate_decide", "adjudicate_beat"])
    def test_others_find_no_page(self, client: Client, assignment: Assignment, name: str) -> None:
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

    def test_no_evidence_is_shown_before_the_own_label(
        self, as_adjudicator: Any, case: Case, adjudicator: Reviewer
    ) -> None:
        early = assigned(case, adjudicator, role=Role.ADJUDICATOR)
        for response in (as_adjudicator.get(address(early)), decide(as_adjudicator, early)):
            assert (response.status_code, response["Location"]) == (302, reverse("label", args=[early.pk]))
        assert not Decision.objects.exists()

    def test_an_annotators_assignment_has_no_such_page(self, as_adjudicator: Any, adjudicator: Reviewer) -> None:
        own = assigned(case_of(), adjudicator, state=AssignmentState.EVIDENCE)
        assert as_adjudicator.get(address(own)).status_code == 404

    def test_an_expired_assignment_shows_no_evidence(self, as_adjudicator: Any, assignment: Assignment) -> None:
        Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.EXPIRED)
        text = text_of(as_adjudicator.get(address(assignment)))
        assert ("ran out" in text, "A marked note." in text) == (True, False)


class TestDeciding:
    def test_a_decision_closes_the_case_and_the_page(
        self, as_adjudicator: Any, assignment: Assignment, case: Case
    ) -> None:
        assert decide(as_adjudicator, assignment)["Location"] == reverse("reviews")
        case.refresh_from_db()
        made = Decision.objects.get()
        assert (case.state, made.label, made.reasons, made.note) == (CaseState.FINAL, "LI", ["annotator_slip"], NOTE)
        assert as_adjudicator.get(address(assignment))["Location"] == reverse("reviews")

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"label": ""}, "Choose the final label."),
            ({"label": "XX"}, "XX is not one of the available choices."),
            ({"reasons": []}, "Choose why the raters differed."),
            ({"note": "short"}, "Explain the decision in 10 to 10000 characters"),
            ({"note": "reversed \u202e text of some length"}, "U+202E"),
        ],
    )
    def test_errors_are_shown_and_the_input_is_kept(
        self, as_adjudicator: Any, assignment: Assignment, changed: dict[str, Any], message: str
    ) -> None:
        response = decide(as_adjudicator, assignment, **changed)
        page, given = response.content.decode(), {**DECISION, **changed}
        assert (response.status_code, message in text_of(response), given["note"] in page) == (422, True, True)
        assert page.count(" checked") == len({"label", "reasons"} - changed.keys())
        assert not Decision.objects.exists()

    def test_another_adjudicators_decision_keeps_the_input(
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
        """The address that voids a case, or lifts a flag."""
        decision = decided(case, ready(adjudicator=True), "LI", reasons=["bad_test"])
        revision = case.implementation.revision
        flag = TaskFlag.objects.create(revision=revision, decision=decision, reason=ReasonCode.BAD_TEST)
        return reverse(request.param, args=[case.pk if request.param == "case_void" else flag.pk])

    def done(self) -> bool:
        states = Case.objects.get().state == CaseState.VOID, TaskFlag.objects.get().lifted is not None
        return any(states)

    def test_a_reason_is_required_and_redirects_stay_on_this_site(self, as_maintainer: Any, action: str) -> None:
        for elsewhere in ("https://evil.example/", "//evil.example/", "javascript:alert(1)"):
            refused = as_maintainer.post(action, {"reason": " ", "next": elsewhere})
            page = refused.content.decode()
            assert (refused.status_code, "This field is required." in page, self.done()) == (422, True, False)
            assert f'<a href="{reverse("reviews")}">Back</a>' in page
        taken = as_maintainer.post(action, {"reason": "The environment was broken.", "next": "/cases/"})
        assert (taken.status_code, taken["Location"], self.done()) == (302, "/cases/", True)

    def test_others_may_not(self, client: Client, case: Case, action: str, adjudicator: Reviewer) -> None:
        for user in (case.implementation.submission.owner, adjudicator.user):
            client.force_login(user)  # type: ignore[arg-type]
            assert client.post(action, {"reason": "The test was mended."}).status_code == 404
        assert not self.done()
