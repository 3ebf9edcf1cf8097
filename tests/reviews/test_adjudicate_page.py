"""Pages of adjudication: the evidence and who sees it, drafts, voiding cases and lifting flags."""

from __future__ import annotations

import re
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
from reviews.labelling.keys import DECISION_KEYS
from reviews.models import Assignment, Case, Decision, Reviewer, TaskFlag, Trigger
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import JudgeFactory, judged, vote
from tests.leaderboard.showing import text_of
from tests.reviews.factories import FINDING, answers, assigned, case_of, decided, expired, ready, reviewed
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision
    from evaluator.models import JudgeConfig
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db


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


def test_labels_are_anonymous_and_findings_name_their_lines(adjudicator: Reviewer) -> None:
    made, assignment = disputed(adjudicator)
    shown = evidence(assignment)
    assert [name for name, _ in shown["labels"]] == ["A", "B"]
    by_label = {label.label: label for _, label in shown["labels"]}
    assert set(by_label) == {"LI", "CC"}
    assert [(each.where, each.error_class) for each in by_label["LI"].findings] == [
        ("answer, lines 1 to 2", "problem not fully understood"),
        ("reference implementation, line 2", ""),
    ]
    name = next(name for name, label in shown["labels"] if label.label == "LI")
    assert sorted((placed.who, placed.key, placed.finding.quote) for placed in shown["findings"]) == [
        (f"Annotator {name}", f"{name}1", f"Answer, lines 1 to 2: {TEXT} (problem not fully understood)"),
        (f"Annotator {name}", f"{name}2", f"Reference implementation, line 2: {TEXT}"),
        ("You", "own1", f"Answer, lines 1 to 2: {TEXT} (problem not fully understood)"),
    ]
    assert by_label["LI"].note == "Not the paper's formula."
    assert (by_label["CC"].confidence, by_label["CC"].meaning) == ("low", "correct")
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
    shown = evidence(assignment)
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
    shown = evidence(disputed(adjudicator, answer, round=2)[1])
    (earlier,) = shown["earlier"]
    assert (earlier, earlier.decision.reason_names) == (first, "judge's error")


NOTE = "Equation 3 of the paper takes the mean over tokens."
DECISION: dict[str, Any] = {"label": "LI", "reasons": "annotator_slip", "note": NOTE}
TEXT = FINDING["text"]
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


def address(assignment: Assignment) -> str:
    return reverse("adjudicate", args=[assignment.pk])


def send(client: Client, assignment: Assignment, *, htmx: bool = False, **typed: Any) -> Any:
    """Send the form, by the page's script or by the browser itself, and refresh ``assignment``."""
    response = client.post(address(assignment), typed, headers={"HX-Request": "true"} if htmx else None)
    assignment.refresh_from_db()
    return response


def decide(client: Client, assignment: Assignment, **changed: str) -> Any:
    return send(client, assignment, **{"act": "decide", **DECISION, **changed})


class TestEvidence:
    def test_the_page_shows_everything_but_the_owner(self, as_adjudicator: Any, assignment: Assignment) -> None:
        response = as_adjudicator.get(address(assignment))
        text = text_of(response)
        for shown in ("Annotator A", "Annotator B", "A marked note.", "You, blind", "1 of 4 differ"):
            assert shown in text
        explained = [words for reason in ReasonCode for words in (reason.label.capitalize(), reason.when)]
        assert [words for words in explained if escape(words) not in response.content.decode()] == []
        assert "A judge&#x27;s marked reason." in text
        assert [hidden for hidden in HIDDEN if hidden in response.content.decode()] == []
        assert "no-store" in response["Cache-Control"]

    def test_the_list_of_keys_has_each_key_of_the_page_once(self, as_adjudicator: Any, assignment: Assignment) -> None:
        page = as_adjudicator.get(address(assignment)).content.decode()
        listed = re.findall(r"<kbd>([^<]+)</kbd></td><td>([^<]+)<", page[page.index('id="keys-help"') :])
        assert listed[: len(DECISION_KEYS)] == [(key.key, escape(key.does)) for key in DECISION_KEYS.values()]
        assert len({key for key, _ in listed}) == len(listed)
        Reviewer.objects.update(keys_off=True)
        page = as_adjudicator.get(address(assignment)).content.decode()
        assert ("<kbd>a<" in page, '"take_a": ""' in page) == (False, True)

    @pytest.mark.parametrize("act", ["", "save", "decide", "take-A"])
    def test_others_find_no_page(self, client: Client, assignment: Assignment, act: str) -> None:
        """Without an ``act`` the page is fetched."""
        annotator = assignment.case.reviews.filter(role=Role.ANNOTATOR)[0].reviewer
        typed = {**DECISION, "act": act}
        ask: Any = client.post if act else client.get
        assert ask(address(assignment), typed)["Location"].split("?")[0] == "/accounts/login/"
        assert ask(address(assignment), typed, headers={"HX-Request": "true"}).status_code == 401
        for user in (ready(adjudicator=True).user, annotator.user, UserFactory(), UserFactory(is_staff=True)):
            client.force_login(user)  # type: ignore[arg-type]
            assert ask(address(assignment), typed).status_code == 404
        assert not Decision.objects.exists()
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(assignment.reviewer.user)  # type: ignore[arg-type]
        assert strict.post(address(assignment), typed).status_code == 403

    def test_no_evidence_is_shown_before_the_own_label(
        self, as_adjudicator: Any, case: Case, adjudicator: Reviewer
    ) -> None:
        early = assigned(case, adjudicator, role=Role.ADJUDICATOR)
        sent = [send(as_adjudicator, early, act=act, **DECISION) for act in ("decide", "save", "take-A", "take-A1")]
        for response in (as_adjudicator.get(address(early)), as_adjudicator.get(f"{address(early)}?part=diff"), *sent):
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

    def test_the_next_case_can_follow(self, as_adjudicator: Any, assignment: Assignment, adjudicator: Reviewer) -> None:
        following = case_of(state=CaseState.DISPUTED)
        place = decide(as_adjudicator, assignment, act="next")["Location"]
        held = Assignment.objects.get(case=following, reviewer=adjudicator)
        assert (place, held.role) == (reverse("label", args=[held.pk]), Role.ADJUDICATOR)
        reviewed_one = Case.objects.get(pk=following.pk)
        assert (Decision.objects.get().case_id, reviewed_one.state) == (assignment.case_id, CaseState.ADJUDICATING)

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


class TestDrafts:
    @pytest.mark.parametrize("htmx", [False, True])
    def test_a_draft_is_saved_whole_or_not_and_renews_the_lease(
        self, as_adjudicator: Any, assignment: Assignment, htmx: bool
    ) -> None:
        soon = timezone.now() + timedelta(seconds=5)
        Assignment.objects.filter(pk=assignment.pk).update(lease_until=soon)
        typed = {"label": "", "reasons": ["judge_error"], "note": "The mean\r\n", "layout": "unified", "paper_page": 3}
        response = send(as_adjudicator, assignment, act="save", htmx=htmx, **typed)
        assert assignment.draft == {
            "decision": {"label": "", "reasons": ["judge_error"], "note": "The mean\n"},
            "view": {"layout": "unified"},
            "paper_page": 3,
        }
        assert assignment.lease_until is not None
        assert assignment.lease_until > soon
        assert ("Saved " in response.content.decode(), response.status_code) == ((True, 200) if htmx else (False, 302))
        page = as_adjudicator.get(address(assignment)).content.decode()
        assert (page.count(" checked"), "The mean\n</textarea>" in page) == (1, True)

    def test_a_stale_tab_overwrites_nothing(self, as_adjudicator: Any, assignment: Assignment) -> None:
        send(as_adjudicator, assignment, act="save", note="the other tab", reasons=["bad_test"])
        response = send(as_adjudicator, assignment, htmx=True, act="save", note="this tab")
        text = text_of(response)
        assert (response.status_code, "the other tab" in text, "Reasons: bad test" in text) == (409, True, True)
        assert assignment.draft["decision"]["note"] == "the other tab"

    def test_a_lost_case_keeps_the_input_and_shows_no_evidence(
        self, as_adjudicator: Any, assignment: Assignment
    ) -> None:
        Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.EXPIRED)
        for htmx in (True, False):
            response = send(as_adjudicator, assignment, htmx=htmx, act="save", **DECISION)
            text = text_of(response)
            assert (response.status_code, "ran out" in text, "A marked note." in text) == (410, True, False)
        assert NOTE in response.content.decode()
        assert assignment.draft["decision"]["note"] == NOTE

    def test_an_expired_case_is_resumed_with_its_draft(self, as_adjudicator: Any, assignment: Assignment) -> None:
        send(as_adjudicator, assignment, act="save", **DECISION)
        expired(assignment)
        assert "Resume this case</button>" in as_adjudicator.get(address(assignment)).content.decode()
        label = reverse("label", args=[assignment.pk])
        resumed = as_adjudicator.post(label, {"act": "resume"}, follow=True)
        assert (resumed.redirect_chain[-1][0], NOTE in resumed.content.decode()) == (address(assignment), True)

    def test_the_blind_label_leaves_no_decision(self, as_adjudicator: Any, assignment: Assignment) -> None:
        """A form of the blind label that was sent late is not the decision's draft."""
        Assignment.objects.filter(pk=assignment.pk).update(draft={"label": "CC", "note": "blind", "reasons": []})
        page = as_adjudicator.get(address(assignment)).content.decode()
        assert (page.count(" checked"), "blind</textarea>" in page) == (0, False)
        late = as_adjudicator.post(reverse("label", args=[assignment.pk]), {"act": "save", "label": "LI"})
        assignment.refresh_from_db()
        assert (late.status_code, assignment.draft["label"]) == (410, "CC")


class TestTakingOver:
    @pytest.fixture
    def assignment(self, adjudicator: Reviewer) -> Assignment:
        return disputed(adjudicator)[1]

    def test_a_label_is_taken_over_without_scripts(self, as_adjudicator: Any, assignment: Assignment) -> None:
        for name, label in evidence(assignment)["labels"]:
            version = assignment.draft_version
            sent = send(as_adjudicator, assignment, act=[f"take-{name}", "save"], note="so far", version=version)
            assert sent["Location"] == address(assignment)
            decision = {"label": label.label, "reasons": [], "note": "so far"}
            assert assignment.draft["decision"] == decision
            page = as_adjudicator.get(address(assignment)).content.decode()
            assert f'value="take-{name}" data-act="take" data-label="{label.label}"' in page

    def test_findings_are_added_to_the_note_without_scripts(self, as_adjudicator: Any, assignment: Assignment) -> None:
        findings = evidence(assignment)["findings"]
        assert len(findings) == 3
        page = as_adjudicator.get(address(assignment)).content.decode()
        note = "First."
        for placed in findings:
            assert f'value="take-{placed.key}" data-act="take"' in page
            assert f'data-quote="{escape(placed.finding.quote)}"' in page
            version = assignment.draft_version
            send(as_adjudicator, assignment, act=[f"take-{placed.key}", "save"], label="LC", note=note, version=version)
            note = f"{note}\n{placed.finding.quote}"
            assert assignment.draft["decision"] == {"label": "LC", "reasons": [], "note": note}

    def test_unknown_names_change_nothing(self, as_adjudicator: Any, assignment: Assignment) -> None:
        for key in ("Z", "A9", "own", ""):
            version = assignment.draft_version
            send(as_adjudicator, assignment, act=f"take-{key}", label="LC", note="mine", version=version)
            assert assignment.draft["decision"] == {"label": "LC", "reasons": [], "note": "mine"}

    def test_findings_are_below_the_last_of_their_lines(
        self, as_adjudicator: Any, adjudicator: Reviewer, task: TaskRevision
    ) -> None:
        """Also in the part that a script fetches, and where the lines would be folded."""
        source = "def double(x):\n" + "".join(f"    a{number} = {number}\n" for number in range(30))
        (answer,) = answers(answer={"revision": task, "goal_source": source})
        made = case_of(answer, state=CaseState.ADJUDICATING)
        reviewed(made, ready(), "LI", findings=[{**FINDING, "start": 19, "end": 20}])
        own = reviewed(made, adjudicator, "LC", role=Role.ADJUDICATOR, findings=[]).assignment
        assert own is not None
        for part in ("", "?part=diff"):
            page = as_adjudicator.get(address(own) + part).content.decode()
            row = page[page.index('data-line="20"') : page.index('data-line="21"')]
            assert (TEXT in row, page.count('class="finding right"')) == (True, 1)


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
