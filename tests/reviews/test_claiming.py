"""Claiming cases: one at a time, by severity, with all rules on who may claim; repeats; releasing cases."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from reviews.cases import holding
from reviews.enums import AssignmentState, CaseKind, CaseState, Role, Severity
from reviews.exceptions import IncompleteError, LeaseLostError, NotReadyError
from reviews.labelling import claiming
from reviews.labelling.repeats import due_repeats, plan_repeat
from reviews.models import Assignment, Case, CaseEvent, Reviewer
from tests.reviews.factories import (
    ReviewerFactory,
    answers,
    assigned,
    case_of,
    claimed,
    expired,
    guideline,
    labelled,
    late,
    ready,
    reviewed,
    shares,
)

if TYPE_CHECKING:
    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db
REASON = "I reviewed this paper myself."


def nothing(reviewer: Reviewer, role: Role = Role.ANNOTATOR) -> bool:
    return claiming.claim(reviewer=reviewer, role=role) is None


def aged(case: Case, days: int) -> Case:
    """Set the case's age in days."""
    Case.objects.filter(pk=case.pk).update(created=timezone.now() - timedelta(days=days))
    return case


def state_of(case: Case) -> str:
    return Case.objects.get(pk=case.pk).state


def what_happened(case: Case) -> list[tuple[str, str, str]]:
    """Return the events of a case: before, after, what."""
    return list(CaseEvent.objects.filter(case=case).order_by("pk").values_list("before", "after", "what"))


def claimed_in_turn(reviewer: Reviewer, number: int) -> list[Case]:
    """Return the cases claimed when each is skipped."""
    order = []
    for _ in range(number):
        assignment = claimed(reviewer)
        order.append(assignment.case)
        holding.skip(assignment, reason=REASON)
    return order


class TestWho:
    @pytest.mark.both_databases
    def test_a_claim_holds_a_case_by_a_lease_and_a_second_one_renews_it(self, annotator: Reviewer) -> None:
        case = case_of()
        assignment = claimed(annotator)
        assert (assignment.case, assignment.reviewer, assignment.role) == (case, annotator, Role.ANNOTATOR)
        assert assignment.state == AssignmentState.ACTIVE
        assert timedelta(minutes=29) < assignment.lease_until - timezone.now() <= timedelta(minutes=30)
        assert state_of(case) == CaseState.LEASED
        assert what_happened(case) == [("queued", "leased", "taken")]
        case_of()
        late(assignment)
        again = claimed(annotator)
        assert (again.pk, again.token, Assignment.objects.count()) == (assignment.pk, assignment.token, 1)
        assert again.lease_until > timezone.now() + timedelta(minutes=29)

    def test_a_reviewer_with_both_roles_holds_one_item(self) -> None:
        both = ready(adjudicator=True)
        case_of(state=CaseState.DISPUTED)
        case_of()
        held = claimed(both, Role.ADJUDICATOR)
        assert (held.role, claimed(both, Role.ANNOTATOR).pk) == (Role.ADJUDICATOR, held.pk)

    def test_claiming_needs_the_guidelines_and_the_role(self, reviewer: Reviewer, annotator: Reviewer) -> None:
        guideline()
        case_of()
        case_of(state=CaseState.DISPUTED)
        with pytest.raises(NotReadyError, match="guidelines"):
            claiming.claim(reviewer=reviewer, role=Role.ANNOTATOR)
        with pytest.raises(NotReadyError, match="adjudicator"):
            claiming.claim(reviewer=annotator, role=Role.ADJUDICATOR)
        assert not claiming.claimable(annotator, Role.ADJUDICATOR).exists()
        assert not Assignment.objects.exists()

    @pytest.mark.both_databases
    def test_a_case_has_as_many_places_as_wanted_labels(self, annotator: Reviewer, other_annotator: Reviewer) -> None:
        case = case_of()
        assert [claimed(person).case for person in (annotator, other_annotator)] == [case, case]
        assert (nothing(ready()), state_of(case)) == (True, CaseState.LEASED)
        assert what_happened(case) == [("queued", "leased", "taken"), ("leased", "leased", "taken")]

    def test_a_locked_label_occupies_a_place(self, annotator: Reviewer, other_annotator: Reviewer) -> None:
        case = case_of(state=CaseState.ONE_LABEL)
        reviewed(case, annotator, "CC")
        assert claimed(other_annotator).case == case
        assert [nothing(person) for person in (ready(), annotator)] == [True, True]

    @pytest.mark.parametrize("state", CaseState.values)
    def test_each_role_has_its_states(self, annotator: Reviewer, adjudicator: Reviewer, state: str) -> None:
        case_of(state=state)
        assert nothing(annotator) == (state not in {"queued", "leased", "one_label"})
        assert nothing(adjudicator, Role.ADJUDICATOR) == (state != "disputed")

    def test_one_adjudicator_claims_a_dispute_unless_it_has_their_label(self, adjudicator: Reviewer) -> None:
        both = ready(adjudicator=True)
        case = case_of(state=CaseState.DISPUTED)
        reviewed(case, both, "CC")
        assert nothing(both, Role.ADJUDICATOR)
        assignment = claimed(adjudicator, Role.ADJUDICATOR)
        assert (assignment.role, assignment.state) == (Role.ADJUDICATOR, AssignmentState.ACTIVE)
        assert state_of(case) == CaseState.ADJUDICATING
        assert nothing(ready(annotator=False, adjudicator=True), Role.ADJUDICATOR)

    def test_practice_is_not_claimed_and_does_not_block_claims(self, annotator: Reviewer) -> None:
        reviewed(case_of(kind=CaseKind.PRACTICE, known_label="CC"), annotator, "CC")
        assert nothing(annotator)
        assigned(case_of(kind=CaseKind.PRACTICE, known_label="LI", state=CaseState.VOID), annotator)
        case = case_of()
        assert claimed(annotator).case == case


@pytest.mark.both_databases
class TestOrder:
    def test_cases_are_ordered_by_severity_age_and_place(self, annotator: Reviewer) -> None:
        late_audit = case_of(severity=Severity.AUDIT, place=1)
        old_audit = aged(case_of(severity=Severity.AUDIT, place=9), 3)
        second, first = (case_of(severity=Severity.CONFLICT, place=place) for place in (8, 7))
        assert claimed_in_turn(annotator, 4) == [first, second, old_audit, late_audit]

    def test_cases_handed_back_come_last(self, annotator: Reviewer) -> None:
        severe, mild = case_of(severity=Severity.CONFLICT), case_of()
        holding.hand_back(claimed(annotator))
        assert claimed(annotator).case == mild
        holding.hand_back(Assignment.objects.get(case=mild))
        assert claimed(annotator).case == severe

    def test_a_due_repeat_is_ranked_among_the_most_severe_for_its_annotator(
        self, annotator: Reviewer, other_annotator: Reviewer
    ) -> None:
        older, newer = aged(case_of(severity=Severity.CONFLICT), 20), case_of(severity=Severity.CONFLICT)
        repeat = case_of(kind=CaseKind.REPEAT, reserved_for=annotator, labels_wanted=1)
        mild = case_of(severity=Severity.AUDIT)
        assert set(claiming.claimable(annotator, Role.ANNOTATOR)) == {older, newer, mild}
        aged(repeat, 8)
        assert set(claiming.claimable(annotator, Role.ANNOTATOR)) == {older, newer, mild, repeat}
        assert set(claiming.claimable(other_annotator, Role.ANNOTATOR)) == {older, newer, mild}
        assert claimed_in_turn(annotator, 4) == [older, repeat, newer, mild]


@pytest.mark.both_databases
class TestLeases:
    def test_a_heartbeat_renews_an_expired_lease_until_it_is_ended(self, annotator: Reviewer) -> None:
        case_of()
        assignment = late(claimed(annotator))
        until = holding.extend(assignment)
        assert until == assignment.lease_until == Assignment.objects.get().lease_until
        assert until > timezone.now() + timedelta(minutes=29)
        stale = late(Assignment.objects.get())
        assert holding.expire() == 1
        with pytest.raises(LeaseLostError, match="ran out"):
            holding.extend(stale)
        claimed(annotator)
        with pytest.raises(LeaseLostError, match="another tab"):
            holding.extend(stale)
        assert Assignment.objects.get().lease_until > timezone.now()

    def test_late_leases_expire_and_cases_return_to_the_queue(
        self, annotator: Reviewer, other_annotator: Reviewer
    ) -> None:
        case = case_of()
        first, second = claimed(annotator), claimed(other_annotator)
        assert holding.expire() == 0
        late(first)
        assert (holding.expire(), state_of(case)) == (1, CaseState.LEASED)
        first.refresh_from_db()
        assert (first.state, first.lease_until) == (AssignmentState.EXPIRED, None)
        late(second)
        assert (holding.expire(), state_of(case)) == (1, CaseState.QUEUED)
        assert what_happened(case)[2:] == [("leased", "leased", "lease ran out"), ("leased", "queued", "lease ran out")]

    def test_an_expired_lease_frees_its_place_and_locked_labels_stay(self, annotator: Reviewer) -> None:
        case = case_of(state=CaseState.ONE_LABEL)
        reviewed(case, ready(), "CC")
        late(claimed(annotator))
        taken = claimed(ready())
        assert (taken.case, Assignment.objects.get(reviewer=annotator).state) == (case, AssignmentState.EXPIRED)
        late(taken)
        assert (holding.expire(), state_of(case)) == (1, CaseState.ONE_LABEL)

    def test_an_expired_case_is_resumed_with_its_draft_and_a_new_token(self, annotator: Reviewer) -> None:
        case_of()
        first = claimed(annotator)
        Assignment.objects.update(draft={"note": "half a thought"}, draft_version=3)
        expired(first)
        again = claimed(annotator)
        assert (again.pk, again.token == first.token, again.ended) == (first.pk, False, None)
        assert (again.state, again.draft, again.draft_version) == ("active", {"note": "half a thought"}, 3)

    def test_another_adjudicator_can_claim_after_expiry(self, adjudicator: Reviewer) -> None:
        case = case_of(state=CaseState.DISPUTED)
        late(claimed(adjudicator, Role.ADJUDICATOR))
        assert (holding.expire(), state_of(case)) == (1, CaseState.DISPUTED)
        assert claimed(ready(annotator=False, adjudicator=True), Role.ADJUDICATOR).case == case

    def test_an_adjudicator_with_a_locked_label_resumes_at_the_evidence(self, adjudicator: Reviewer) -> None:
        case = case_of(state=CaseState.ADJUDICATING)
        assignment = expired(labelled(case, adjudicator, "LC", role=Role.ADJUDICATOR))
        again = claimed(adjudicator, Role.ADJUDICATOR)
        assert (again.pk, again.state) == (assignment.pk, AssignmentState.EVIDENCE)


class TestReleasing:
    def test_handing_back_frees_the_place_and_keeps_the_draft(self, annotator: Reviewer) -> None:
        case = case_of()
        assignment = claimed(annotator)
        Assignment.objects.update(draft={"note": "kept"})
        holding.hand_back(assignment)
        holding.hand_back(assignment)
        stored = Assignment.objects.get()
        assert (stored.state, stored.lease_until, stored.draft) == (AssignmentState.RETURNED, None, {"note": "kept"})
        assert (state_of(case), what_happened(case)[1:]) == (CaseState.QUEUED, [("leased", "queued", "handed back")])

    @pytest.mark.parametrize("too_late", [False, True])
    def test_a_skipped_case_never_returns_to_its_reviewer(
        self, annotator: Reviewer, other_annotator: Reviewer, too_late: bool
    ) -> None:
        case = case_of()
        assignment = claimed(annotator)
        if too_late:
            expired(assignment)
        holding.skip(assignment, reason=f"  {REASON} ")
        stored = Assignment.objects.get()
        assert (stored.state, stored.skip_reason) == (AssignmentState.SKIPPED, REASON)
        assert (nothing(annotator), claimed(other_annotator).case) == (True, case)

    @pytest.mark.parametrize("reason", ["", "too short", "x" * 2001, "with a NUL \0 in it"])
    def test_skipping_needs_a_reason(self, annotator: Reviewer, reason: str) -> None:
        assignment = assigned(case_of(), annotator)
        with pytest.raises(IncompleteError) as caught:
            holding.skip(assignment, reason=reason)
        assert (set(caught.value.errors), Assignment.objects.get().state) == ({"reason"}, AssignmentState.ACTIVE)

    def test_a_locked_label_is_neither_handed_back_nor_skipped(self, annotator: Reviewer) -> None:
        assignment = labelled(case_of(state=CaseState.ONE_LABEL), annotator, "CC")
        with pytest.raises(LeaseLostError, match="locked"):
            holding.hand_back(assignment)
        with pytest.raises(LeaseLostError, match="locked"):
            holding.skip(assignment, reason=REASON)
        assert Assignment.objects.get().state == AssignmentState.DONE


class TestResuming:
    def test_an_item_is_resumed(self, annotator: Reviewer) -> None:
        case_of(severity=Severity.CONFLICT)
        wanted = assigned(case_of(), annotator, state=AssignmentState.EXPIRED, lease_until=None)
        taken = claiming.resume(wanted)
        assert (taken.pk, taken.state) == (wanted.pk, AssignmentState.ACTIVE)
        assert claiming.resume(taken).pk == wanted.pk

    def test_resuming_is_refused_if_others_have_it_or_another_item_is_held(self, annotator: Reviewer) -> None:
        gone = assigned(case_of(labels_wanted=1), annotator, state=AssignmentState.EXPIRED, lease_until=None)
        claimed(ready())
        with pytest.raises(LeaseLostError, match="ran out"):
            claiming.resume(gone)
        free = assigned(case_of(), annotator, state=AssignmentState.RETURNED, lease_until=None)
        assigned(case_of(state=CaseState.LEASED), annotator)
        with pytest.raises(LeaseLostError, match="another item"):
            claiming.resume(free)
        free.refresh_from_db()
        assert free.state == AssignmentState.RETURNED

    def test_a_practice_item_can_always_be_resumed(self, reviewer: Reviewer) -> None:
        handed_back = assigned(case_of(kind=CaseKind.PRACTICE, known_label="LI"), reviewer)
        holding.hand_back(handed_back)
        taken = claiming.resume(handed_back)
        assert taken.state == AssignmentState.ACTIVE
        late(taken)
        assert (holding.expire(), CaseEvent.objects.count()) == (0, 0)


@pytest.mark.both_databases
def test_counts_are_specific_to_the_annotator(annotator: Reviewer, other_annotator: Reviewer) -> None:
    assigned(case_of(state=CaseState.LEASED), annotator)
    assigned(case_of(), annotator, state=AssignmentState.RETURNED, lease_until=None)
    assigned(case_of(kind=CaseKind.PRACTICE, known_label="CC"), annotator)
    case_of()
    case_of()
    case_of(answers(owner=annotator.user)[0])
    case_of(state=CaseState.DISPUTED)
    assert claiming.queue_counts(annotator) == claiming.QueueCounts(mine=2, unclaimed=3, disputes=0)
    both = ready(adjudicator=True)
    assert claiming.queue_counts(both) == claiming.QueueCounts(mine=0, unclaimed=5, disputes=1)
    other_annotator.active = False
    assert claiming.queue_counts(other_annotator) == claiming.QueueCounts(0, 0, 0)


@pytest.fixture(autouse=True)
def all_are_drawn(settings: Any) -> None:
    """Draw every label for repeating."""
    shares(settings, repeat=1)


def repeat_of(reviewer: Reviewer, days: float = 0, **facts: Any) -> Case:
    case = case_of(kind=CaseKind.REPEAT, reserved_for=reviewer, labels_wanted=1, **facts)
    Case.objects.filter(pk=case.pk).update(created=timezone.now() - timedelta(days=days))
    return case


def test_a_repeat_wants_one_label_of_the_same_annotator_once() -> None:
    case = case_of()
    one, other = reviewed(case, ReviewerFactory(), "LC"), reviewed(case, ReviewerFactory(), "LC")
    repeat, again, others = (plan_repeat(review) for review in (one, one, other))
    assert repeat is not None
    assert (repeat.kind, repeat.state, repeat.labels_wanted) == ("repeat", "queued", 1)
    assert (repeat.implementation_id, repeat.reserved_for) == (case.implementation_id, one.reviewer)
    assert [event.after for event in repeat.events.all()] == ["queued"]
    assert (again, others is not None, Case.objects.filter(kind=CaseKind.REPEAT).count()) == (None, True, 2)


def test_only_drawn_labels_are_repeated(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shares(settings, repeat=0.07)
    review = reviewed(case_of(), ReviewerFactory(), "LC")
    draws = []
    monkeypatch.setattr("reviews.labelling.repeats.drawn", lambda *args: draws.append(args))
    assert plan_repeat(review) is None
    assert draws == [("repeat", review.pk, 0.07)]


@pytest.mark.parametrize(
    ("kind", "person", "role"),
    [
        (CaseKind.PRACTICE, {}, Role.ANNOTATOR),
        (CaseKind.REPEAT, {}, Role.ANNOTATOR),
        (CaseKind.REVIEW, {"adjudicator": True}, Role.ADJUDICATOR),
        (CaseKind.REVIEW, {"user": None}, Role.ANNOTATOR),
    ],
)
def test_only_annotators_labels_of_reviews_are_repeated(kind: CaseKind, person: dict[str, Any], role: Role) -> None:
    assert plan_repeat(reviewed(case_of(kind=kind), ReviewerFactory(**person), "LC", role=role)) is None


@pytest.mark.both_databases
class TestDue:
    def test_a_repeat_is_due_after_twenty_other_labels(self, reviewer: Reviewer) -> None:
        stranger = ReviewerFactory()
        case = repeat_of(reviewer)
        for answer in answers(20):
            reviewed(case_of(answer), stranger, "LC")
        for answer in answers(19):
            reviewed(case_of(answer), reviewer, "LC")
        reviewed(case_of(), reviewer, "LC", locked=case.created - timedelta(minutes=1))
        reviewed(case_of(kind=CaseKind.PRACTICE), reviewer, "LC")
        assert list(due_repeats(reviewer)) == []
        reviewed(case_of(), reviewer, "LC")
        assert list(due_repeats(reviewer)) == [case]
        assert list(due_repeats(stranger)) == []

    def test_a_repeat_is_due_after_seven_days_unless_done(self, reviewer: Reviewer) -> None:
        repeat_of(reviewer, days=6.999)
        assert list(due_repeats(reviewer)) == []
        for state in (CaseState.AGREED, CaseState.VOID):
            repeat_of(reviewer, days=8, state=state)
        assert list(due_repeats(reviewer)) == []
        assert repeat_of(reviewer, days=7) in due_repeats(reviewer)
