"""Appeals, and ending a review by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import transaction
from django.utils import timezone

from evaluator.models import TestRun
from evaluator.signals import implementation_shown_in_part
from reviews.cases.appeals import SHOWN_IN_PART, appeal, appeal_by_site, void
from reviews.cases.final_labels import human_labels
from reviews.enums import AssignmentState, CaseKind, CaseState, FinalSource, Severity, TriggerKind
from reviews.exceptions import ReviewError
from reviews.models import Case, CaseEvent, Trigger
from reviews.signals import case_settled
from submissions.enums import Kind, SubmissionState, Verb, Visibility
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import AuditEvent, Implementation, Submission
from tests.evaluator.factories import TestRunFactory
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from submissions.models import User

pytestmark = pytest.mark.django_db

EVIDENCE = "Line 3 of the paper's algorithm 1 takes the mean, not the sum."
REASON = "The environment was broken."


@pytest.fixture
def answer() -> Implementation:
    """A published answer that was measured."""
    (made,) = answers()
    TestRunFactory(implementation=made, done="passed")
    return made


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """The ids of the cases of which ``case_settled`` was sent."""
    found: list[int] = []

    def hear(case: Case, **_: Any) -> None:
        found.append(case.pk)

    case_settled.connect(hear)
    yield found
    case_settled.disconnect(hear)


def maintainer() -> User:
    made: User = UserFactory(is_staff=True)
    return made


def settled(answer: Implementation, state: CaseState = CaseState.AGREED) -> Case:
    case = case_of(answer, state=state, label="LI", source=FinalSource.AGREED, settled=timezone.now())
    for _ in range(2):
        reviewed(case, ReviewerFactory(), "LI")
    return case


class TestWho:
    def test_the_owner_and_maintainers_may(self, answer: Implementation) -> None:
        case = appeal(actor=answer.submission.owner, implementation=answer, evidence=EVIDENCE)
        (trigger,) = case.triggers.all()
        assert (case.round, case.state, case.severity, trigger.kind) == (1, "queued", 60, "appeal")
        assert (trigger.detail, trigger.raised_by, trigger.inclusion_probability) == (
            EVIDENCE,
            answer.submission.owner,
            1.0,
        )
        event = AuditEvent.objects.get(verb=Verb.APPEALED)
        assert (event.actor, event.subject_kind, event.subject_id, event.reason, event.data) == (
            answer.submission.owner,
            "implementation",
            str(answer.pk),
            EVIDENCE,
            {"case": case.pk, "round": 1},
        )

    def test_strangers_may_not(self, answer: Implementation) -> None:
        with pytest.raises(NotAllowedError, match="Only maintainers and the submission's owner may appeal"):
            appeal(actor=UserFactory(), implementation=answer, evidence=EVIDENCE)
        assert not Case.objects.exists()

    def test_only_maintainers_against_samples(self, answer: Implementation) -> None:
        Submission.objects.update(kind=Kind.CALIBRATION, visibility=Visibility.PRIVATE)
        answer = Implementation.objects.get()
        with pytest.raises(NotAllowedError, match="only maintainers against a sample's label"):
            appeal(actor=answer.submission.owner, implementation=answer, evidence=EVIDENCE)
        assert appeal(actor=maintainer(), implementation=answer, evidence=EVIDENCE).round == 1


class TestWhat:
    @pytest.mark.parametrize("length", [0, 29, 5001])
    def test_evidence_has_bounds(self, answer: Implementation, length: int) -> None:
        with pytest.raises(ReviewError, match=f"Write 30 to 5000 characters of evidence; these are {length}."):
            appeal(actor=maintainer(), implementation=answer, evidence=" " + "x" * length + "\n")
        assert not Case.objects.exists()

    @pytest.mark.parametrize("length", [30, 5000])
    def test_within_them_it_is_taken(self, answer: Implementation, length: int) -> None:
        assert appeal(actor=maintainer(), implementation=answer, evidence="x" * length).state == CaseState.QUEUED

    @pytest.mark.parametrize("change", ["unmeasured", "running", "without code"])
    def test_what_was_not_measured_has_no_label(self, answer: Implementation, change: str) -> None:
        if change == "unmeasured":
            TestRun.objects.all().delete()
        elif change == "running":
            Submission.objects.update(state=SubmissionState.RUNNING)
        else:
            Implementation.objects.update(attempted=False)
        with pytest.raises(WrongStateError, match="has not been measured, or has no code"):
            appeal(actor=maintainer(), implementation=Implementation.objects.get(), evidence=EVIDENCE)

    def test_private_answers_are_not_reviewed(self, answer: Implementation) -> None:
        Submission.objects.update(visibility=Visibility.PRIVATE)
        with pytest.raises(WrongStateError, match="Publish the submission first"):
            appeal(actor=maintainer(), implementation=Implementation.objects.get(), evidence=EVIDENCE)


class TestOpenCases:
    @pytest.mark.parametrize("state", [CaseState.QUEUED, CaseState.ONE_LABEL, CaseState.DISPUTED])
    def test_they_take_the_appeal(self, answer: Implementation, state: CaseState) -> None:
        case = case_of(answer, state=state, severity=Severity.AUDIT)
        assert appeal(actor=maintainer(), implementation=answer, evidence=EVIDENCE) == case
        case.refresh_from_db()
        assert (case.state, case.severity, case.triggers.get().kind) == (state, 60, "appeal")
        assert Case.objects.count() == 1

    def test_one_appeal_at_a_time(self, answer: Implementation) -> None:
        case_of(answer)
        appeal(actor=maintainer(), implementation=answer, evidence=EVIDENCE)
        with pytest.raises(WrongStateError, match="is being looked at already"):
            appeal(actor=answer.submission.owner, implementation=answer, evidence="Another reason, " + EVIDENCE)
        assert Trigger.objects.count() == 1


class TestTheSitesOwn:
    """After raters were shown a part of an answer."""

    @pytest.mark.parametrize("state", [CaseState.LEASED, CaseState.ONE_LABEL, CaseState.DISPUTED])
    def test_an_open_case_ends_with_an_adjudicator(self, answer: Implementation, state: CaseState) -> None:
        case = case_of(answer, state=state, severity=Severity.AUDIT)
        assert appeal_by_site(implementation=answer) == case
        assert appeal_by_site(implementation=answer) is None
        (trigger,) = case.triggers.all()
        assert (trigger.kind, trigger.detail, trigger.raised_by) == ("appeal", SHOWN_IN_PART, None)

    @pytest.mark.parametrize("state", [CaseState.AGREED, CaseState.FINAL])
    def test_a_settled_case_makes_room_for_the_next_round(self, answer: Implementation, state: CaseState) -> None:
        old = settled(answer, state)
        new = appeal_by_site(implementation=answer)
        assert new is not None
        old.refresh_from_db()
        assert (old.state, new.round, new.state, new.triggers.get().detail) == ("reopened", 2, "queued", SHOWN_IN_PART)

    @pytest.mark.parametrize("state", [CaseState.QUEUED, CaseState.VOID, CaseState.REOPENED, None])
    def test_where_nobody_saw_a_part_nothing_happens(self, answer: Implementation, state: CaseState | None) -> None:
        if state:
            case_of(answer, state=state)
        assert appeal_by_site(implementation=answer) is None
        assert Trigger.objects.count() == 0

    def test_the_news_opens_it(self, answer: Implementation, django_capture_on_commit_callbacks: Any) -> None:
        settled(answer)
        with django_capture_on_commit_callbacks(execute=True):
            implementation_shown_in_part.send(sender=Implementation, implementation=answer)
        assert Case.objects.get(round=2).triggers.get().detail == SHOWN_IN_PART


class TestSettledCases:
    @pytest.mark.parametrize("state", [CaseState.AGREED, CaseState.FINAL])
    def test_the_next_round_opens_and_the_label_stays_in_force(
        self, answer: Implementation, state: CaseState, heard: list[int], django_capture_on_commit_callbacks: Any
    ) -> None:
        old = settled(answer, state)
        with django_capture_on_commit_callbacks(execute=True):
            new = appeal(actor=maintainer(), implementation=answer, evidence=EVIDENCE)
        old.refresh_from_db()
        assert (old.state, old.label, old.source) == ("reopened", "LI", "agreed")
        assert (new.round, new.state, new.severity, new.labels_wanted) == (2, "queued", 60, 2)
        assert heard == [old.pk]
        assert CaseEvent.objects.get(case=old).what == "an appeal opened the next round"
        final = human_labels([answer.pk])[answer.pk]
        assert (final.label, final.source, final.case) == ("LI", "agreed", old)

    def test_nobody_appeals_twice_against_one_round(self, answer: Implementation) -> None:
        one, other = maintainer(), maintainer()
        case = settled(answer)
        Trigger.objects.create(case=case, kind=TriggerKind.AUDIT)
        Trigger.objects.create(case=case, kind=TriggerKind.APPEAL, raised_by=one, detail="x" * 40)
        with pytest.raises(WrongStateError, match="heard in this round already"):
            appeal(actor=one, implementation=answer, evidence=EVIDENCE)
        assert appeal(actor=other, implementation=answer, evidence=EVIDENCE).round == 2

    def test_who_opened_a_round_may_appeal_against_it_with_new_evidence(self, answer: Implementation) -> None:
        actor = maintainer()
        settled(answer)
        second = appeal(actor=actor, implementation=answer, evidence=EVIDENCE)
        Case.objects.filter(pk=second.pk).update(state=CaseState.FINAL, label="LC")
        with pytest.raises(ReviewError, match="Bring new evidence"):
            appeal(actor=actor, implementation=answer, evidence=f"  {EVIDENCE.upper().replace(' ', '  ')}")
        assert appeal(actor=actor, implementation=answer, evidence="And " + EVIDENCE).round == 3
        assert list(Case.objects.order_by("round").values_list("state", flat=True)) == [
            "reopened",
            "reopened",
            "queued",
        ]

    def test_a_round_that_an_import_left_reopened_is_followed_by_the_next(
        self, answer: Implementation, heard: list[int]
    ) -> None:
        """On the site that wrote the file the next round was open still, so it was not in it."""
        old = settled(answer, CaseState.REOPENED)
        Trigger.objects.create(case=old, kind=TriggerKind.APPEAL)
        new = appeal(actor=maintainer(), implementation=answer, evidence=EVIDENCE)
        old.refresh_from_db()
        assert (old.state, old.label, old.triggers.count(), heard) == ("reopened", "LI", 1, [])
        assert (new.round, new.state, new.triggers.get().detail) == (2, "queued", EVIDENCE)

    def test_a_void_case_makes_room_for_the_next_round(self, answer: Implementation) -> None:
        case_of(answer, state=CaseState.VOID)
        assert appeal(actor=maintainer(), implementation=answer, evidence=EVIDENCE).round == 2

    def test_repeats_and_practice_are_no_rounds(self, answer: Implementation) -> None:
        case_of(answer, kind=CaseKind.PRACTICE)
        case_of(answer, kind=CaseKind.REPEAT, reserved_for=ReviewerFactory(), state=CaseState.AGREED)
        assert appeal(actor=maintainer(), implementation=answer, evidence=EVIDENCE).round == 1


class TestVoid:
    @pytest.mark.parametrize("state", [CaseState.LEASED, CaseState.DISPUTED, CaseState.AGREED, CaseState.FINAL])
    def test_maintainers_end_a_review(
        self, state: CaseState, heard: list[int], django_capture_on_commit_callbacks: Any
    ) -> None:
        case, actor = case_of(state=state, label="LI", source=FinalSource.AGREED), maintainer()
        reviewed(case, ReviewerFactory(), "LI")
        held = assigned(case, ReviewerFactory())
        with django_capture_on_commit_callbacks(execute=True):
            void(actor=actor, case=case, reason=f" {REASON} ")
        case.refresh_from_db()
        held.refresh_from_db()
        assert (case.state, case.label, case.source, case.settled) == ("void", "", "", None)
        assert (held.state, held.lease_until, case.reviews.count()) == (AssignmentState.RETURNED, None, 1)
        assert heard == [case.pk]
        assert CaseEvent.objects.get(case=case).what == REASON
        event = AuditEvent.objects.get(verb=Verb.VOIDED)
        assert (event.actor, event.subject_kind, event.subject_id, event.reason) == (
            actor, "case", str(case.pk), REASON,
        )  # fmt: skip

    def test_nobody_else_does(self) -> None:
        case = case_of()
        with pytest.raises(NotAllowedError, match="Only maintainers"):
            void(actor=case.implementation.submission.owner, case=case, reason=REASON)
        case.refresh_from_db()
        assert case.state == CaseState.QUEUED

    def test_a_reason_is_needed(self) -> None:
        case = case_of()
        with pytest.raises(ReviewError, match="at least 10 characters"):
            void(actor=maintainer(), case=case, reason="   broken.   ")
        case.refresh_from_db()
        assert case.state == CaseState.QUEUED

    @pytest.mark.parametrize(
        "facts", [{"state": CaseState.VOID}, {"state": CaseState.REOPENED}, {"kind": CaseKind.PRACTICE}]
    )
    def test_some_cannot_be_ended(self, facts: dict[str, Any]) -> None:
        case = case_of(**facts)
        with pytest.raises(WrongStateError, match=f"Case {case.pk} is .*, so it cannot be made void"):
            void(actor=maintainer(), case=case, reason=REASON)
        assert not AuditEvent.objects.exists()

    def test_who_was_faster_wins(self) -> None:
        case = case_of()
        stale = Case.objects.get(pk=case.pk)
        void(actor=maintainer(), case=case, reason=REASON)
        with pytest.raises(WrongStateError), transaction.atomic():
            void(actor=maintainer(), case=stale, reason=REASON)
        assert AuditEvent.objects.count() == 1
