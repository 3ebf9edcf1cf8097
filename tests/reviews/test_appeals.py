"""Appeals, and voiding cases by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import transaction
from django.utils import timezone

from evaluator.models import TestRun
from reviews.cases.appeals import appeal
from reviews.cases.final_labels import reviewed_labels
from reviews.cases.voiding import void
from reviews.enums import AssignmentState, CaseKind, CaseState, FinalSource, Severity, TriggerKind
from reviews.exceptions import ReviewError
from reviews.models import Case, CaseEvent, Trigger
from submissions.enums import Kind, SubmissionState, Verb, Visibility
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import AuditEvent, Implementation, Submission
from tests.evaluator.factories import TestRunFactory
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable

    from submissions.models import User

pytestmark = pytest.mark.django_db

EVIDENCE = "Line 3 of the paper's algorithm 1 takes the mean, not the sum."
REASON = "The environment was broken."


@pytest.fixture
def answer() -> Implementation:
    """A published answer that was evaluated."""
    (made,) = answers()
    TestRunFactory(implementation=made, done="passed")
    return made


def closed_case(answer: Implementation, state: CaseState = CaseState.AGREED) -> Case:
    case = case_of(answer, state=state, label="LI", source=FinalSource.AGREED, closed=timezone.now())
    for _ in range(2):
        reviewed(case, ReviewerFactory(), "LI")
    return case


class TestWho:
    def test_the_owner_and_maintainers_may(self, answer: Implementation) -> None:
        owner = answer.submission.owner
        case = appeal(actor=owner, implementation=answer, evidence=EVIDENCE)
        (trigger,) = case.triggers.all()
        assert (case.round, case.state, case.severity, trigger.kind) == (1, "queued", 60, "appeal")
        assert (trigger.detail, trigger.raised_by, trigger.inclusion_probability) == (EVIDENCE, owner, 1.0)
        event = AuditEvent.objects.get(verb=Verb.APPEALED)
        assert (event.actor, event.subject_kind, event.subject_id) == (owner, "implementation", str(answer.pk))
        assert (event.reason, event.data) == (EVIDENCE, {"case": case.pk, "round": 1})

    def test_other_users_may_not(self, answer: Implementation) -> None:
        with pytest.raises(NotAllowedError, match="Only maintainers and the submission's owner may appeal"):
            appeal(actor=UserFactory(), implementation=answer, evidence=EVIDENCE)
        assert not Case.objects.exists()

    def test_only_maintainers_against_samples(self, answer: Implementation, maintainer: User) -> None:
        Submission.objects.update(kind=Kind.CALIBRATION, visibility=Visibility.PRIVATE)
        answer = Implementation.objects.get()
        with pytest.raises(NotAllowedError, match="only maintainers against a sample's label"):
            appeal(actor=answer.submission.owner, implementation=answer, evidence=EVIDENCE)
        assert appeal(actor=maintainer, implementation=answer, evidence=EVIDENCE).round == 1


class TestWhat:
    @pytest.mark.parametrize(("length", "taken"), [(29, False), (30, True), (5000, True), (5001, False)])
    def test_evidence_has_length_limits(
        self, answer: Implementation, maintainer: User, length: int, taken: bool
    ) -> None:
        given: dict[str, Any] = {"actor": maintainer, "implementation": answer, "evidence": f" {'x' * length}\n"}
        if taken:
            assert appeal(**given).state == CaseState.QUEUED
            return
        with pytest.raises(ReviewError, match=f"Write 30 to 5000 characters of evidence; this text has {length}."):
            appeal(**given)
        assert not Case.objects.exists()

    @pytest.mark.parametrize("change", ["unmeasured", "running", "without code", "private"])
    def test_unevaluated_or_unpublished_answers_have_no_label(
        self, answer: Implementation, maintainer: User, change: str
    ) -> None:
        if change == "unmeasured":
            TestRun.objects.all().delete()
        elif change == "running":
            Submission.objects.update(state=SubmissionState.RUNNING)
        elif change == "private":
            Submission.objects.update(visibility=Visibility.PRIVATE)
        else:
            Implementation.objects.update(attempted=False)
        why = "Publish the submission first" if change == "private" else "has not been evaluated, or has no code"
        with pytest.raises(WrongStateError, match=why):
            appeal(actor=maintainer, implementation=Implementation.objects.get(), evidence=EVIDENCE)


class TestOpenCases:
    @pytest.mark.parametrize("state", [CaseState.QUEUED, CaseState.DISPUTED])
    def test_an_open_case_accepts_one_appeal(self, answer: Implementation, maintainer: User, state: CaseState) -> None:
        case = case_of(answer, state=state, severity=Severity.AUDIT)
        assert appeal(actor=maintainer, implementation=answer, evidence=EVIDENCE) == case
        case.refresh_from_db()
        assert (case.state, case.severity, case.triggers.get().kind) == (state, 60, "appeal")
        with pytest.raises(WrongStateError, match="is already under review"):
            appeal(actor=answer.submission.owner, implementation=answer, evidence="Another reason, " + EVIDENCE)
        assert (Case.objects.count(), Trigger.objects.count()) == (1, 1)


class TestClosedCases:
    @pytest.mark.parametrize("state", [CaseState.AGREED, CaseState.FINAL])
    def test_the_next_round_opens_and_the_label_stays_in_force(
        self,
        answer: Implementation,
        maintainer: User,
        state: CaseState,
        heard: list[Case],
        committing: Callable[[], Any],
    ) -> None:
        old = closed_case(answer, state)
        with committing():
            new = appeal(actor=maintainer, implementation=answer, evidence=EVIDENCE)
        old.refresh_from_db()
        assert (old.state, old.label, old.source) == ("reopened", "LI", "agreed")
        assert (new.round, new.state, new.severity, new.labels_wanted) == (2, "queued", 60, 2)
        assert heard == [old]
        assert CaseEvent.objects.get(case=old).what == "an appeal opened the next round"
        final = reviewed_labels([answer.pk])[answer.pk]
        assert (final.label, final.source, final.case) == ("LI", "agreed", old)

    def test_a_user_cannot_appeal_twice_against_one_round(self, answer: Implementation, maintainer: User) -> None:
        case = closed_case(answer)
        Trigger.objects.create(case=case, kind=TriggerKind.AUDIT)
        Trigger.objects.create(case=case, kind=TriggerKind.APPEAL, raised_by=maintainer, detail="x" * 40)
        with pytest.raises(WrongStateError, match="This round has already decided your appeal"):
            appeal(actor=maintainer, implementation=answer, evidence=EVIDENCE)
        assert appeal(actor=UserFactory(is_staff=True), implementation=answer, evidence=EVIDENCE).round == 2

    def test_the_appellant_who_opened_a_round_may_appeal_against_it(
        self, answer: Implementation, maintainer: User
    ) -> None:
        closed_case(answer)
        second = appeal(actor=maintainer, implementation=answer, evidence=EVIDENCE)
        Case.objects.filter(pk=second.pk).update(state=CaseState.FINAL, label="LC")
        with pytest.raises(ReviewError, match="Give new evidence"):
            appeal(actor=maintainer, implementation=answer, evidence=f"  {EVIDENCE.upper().replace(' ', '  ')}")
        assert appeal(actor=maintainer, implementation=answer, evidence="And " + EVIDENCE).round == 3
        states = list(Case.objects.order_by("round").values_list("state", flat=True))
        assert states == ["reopened", "reopened", "queued"]

    @pytest.mark.parametrize("state", [CaseState.VOID, CaseState.REOPENED])
    def test_an_appeal_follows_a_void_or_reopened_round(
        self, answer: Implementation, maintainer: User, state: CaseState, heard: list[Case]
    ) -> None:
        closed_case(answer, state)
        assert appeal(actor=maintainer, implementation=answer, evidence=EVIDENCE).round == 2
        assert (Case.objects.get(round=1).state, heard) == (state, [])

    def test_repeats_and_practice_are_not_rounds(self, answer: Implementation, maintainer: User) -> None:
        case_of(answer, kind=CaseKind.PRACTICE)
        case_of(answer, kind=CaseKind.REPEAT, reserved_for=ReviewerFactory(), state=CaseState.AGREED)
        assert appeal(actor=maintainer, implementation=answer, evidence=EVIDENCE).round == 1


class TestVoid:
    @pytest.mark.parametrize("state", [CaseState.LEASED, CaseState.DISPUTED, CaseState.AGREED, CaseState.FINAL])
    def test_maintainers_void_a_case(
        self, maintainer: User, state: CaseState, heard: list[Case], committing: Callable[[], Any]
    ) -> None:
        case = case_of(state=state, label="LI", source=FinalSource.AGREED)
        reviewed(case, ReviewerFactory(), "LI")
        held = assigned(case, ReviewerFactory())
        with committing():
            void(actor=maintainer, case=case, reason=f" {REASON} ")
        case.refresh_from_db()
        held.refresh_from_db()
        assert (case.state, case.label, case.source, case.closed) == ("void", "", "", None)
        assert (held.state, held.lease_until, case.reviews.count()) == (AssignmentState.RETURNED, None, 1)
        assert (heard, CaseEvent.objects.get(case=case).what) == ([case], REASON)
        event = AuditEvent.objects.get(verb=Verb.VOIDED)
        assert (event.actor, event.subject_kind, event.subject_id) == (maintainer, "case", str(case.pk))
        assert event.reason == REASON

    def test_voiding_needs_a_maintainer_and_a_reason(self, maintainer: User) -> None:
        case = case_of()
        with pytest.raises(NotAllowedError, match="Only maintainers"):
            void(actor=case.implementation.submission.owner, case=case, reason=REASON)
        with pytest.raises(ReviewError, match="at least 10 characters"):
            void(actor=maintainer, case=case, reason="   broken.   ")
        case.refresh_from_db()
        assert case.state == CaseState.QUEUED

    @pytest.mark.parametrize(
        "facts", [{"state": CaseState.VOID}, {"state": CaseState.REOPENED}, {"kind": CaseKind.PRACTICE}]
    )
    def test_some_cases_cannot_be_voided(self, maintainer: User, facts: dict[str, Any]) -> None:
        case = case_of(**facts)
        with pytest.raises(WrongStateError, match=f"Case {case.pk} is .*, so its review cannot be ended"):
            void(actor=maintainer, case=case, reason=REASON)
        assert not AuditEvent.objects.exists()

    def test_the_first_of_two_changes_applies(self, maintainer: User) -> None:
        case = case_of()
        stale = Case.objects.get(pk=case.pk)
        void(actor=maintainer, case=case, reason=REASON)
        with pytest.raises(WrongStateError), transaction.atomic():
            void(actor=maintainer, case=stale, reason=REASON)
        assert AuditEvent.objects.count() == 1
