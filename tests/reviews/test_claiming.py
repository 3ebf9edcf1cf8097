"""Taking a case: one at a time, by severity, with every rule about who may have it; and letting go of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from reviews.enums import AssignmentState, CaseKind, CaseState, Role, Severity
from reviews.exceptions import LabelError, LeaseLostError, NotReadyError
from reviews.labelling import claiming, holding
from reviews.models import Assignment, Case, CaseEvent
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, guideline, labelled, ready, reviewed

if TYPE_CHECKING:
    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db

REASON = "I reviewed this paper myself."


def claim(reviewer: Reviewer, role: Role = Role.ANNOTATOR) -> Assignment:
    """What is claimed, when something is."""
    assignment = claiming.claim(reviewer=reviewer, role=role)
    assert assignment is not None
    return assignment


def late(assignment: Assignment) -> None:
    """The lease has run out."""
    Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def aged(case: Case, days: int) -> Case:
    """The case was made so many days ago."""
    Case.objects.filter(pk=case.pk).update(created=timezone.now() - timedelta(days=days))
    return case


def what_happened(case: Case) -> list[tuple[str, str, str]]:
    """The events of a case: before, after, what."""
    return list(CaseEvent.objects.filter(case=case).order_by("pk").values_list("before", "after", "what"))


def test_a_claim_holds_a_case_by_a_lease_and_says_so(annotator: Reviewer) -> None:
    case = case_of()
    assignment = claim(annotator)
    assert (assignment.case, assignment.reviewer, assignment.role) == (case, annotator, Role.ANNOTATOR)
    assert assignment.state == AssignmentState.ACTIVE
    assert timedelta(minutes=29) < assignment.lease_until - timezone.now() <= timedelta(minutes=30)
    case.refresh_from_db()
    assert case.state == CaseState.LEASED
    assert what_happened(case) == [("queued", "leased", "taken")]


def test_what_is_held_is_resumed_with_its_lease_renewed(annotator: Reviewer) -> None:
    case_of()
    case_of()
    first = claim(annotator)
    late(first)
    again = claim(annotator)
    assert (again.pk, again.token) == (first.pk, first.token)
    assert again.lease_until > timezone.now() + timedelta(minutes=29)
    assert Assignment.objects.count() == 1


def test_somebody_with_both_roles_holds_one_item_at_a_time() -> None:
    both = ready(adjudicator=True)
    case_of(state=CaseState.DISPUTED)
    case_of()
    held = claim(both, Role.ADJUDICATOR)
    assert held.role == Role.ADJUDICATOR
    assert claim(both, Role.ANNOTATOR).pk == held.pk


def test_who_has_not_read_the_guidelines_gets_nothing() -> None:
    guideline()
    case_of()
    with pytest.raises(NotReadyError, match="guidelines"):
        claiming.claim(reviewer=ReviewerFactory(), role=Role.ANNOTATOR)
    assert not Assignment.objects.exists()


def test_nobody_claims_in_a_role_that_is_not_theirs(annotator: Reviewer) -> None:
    case_of(state=CaseState.DISPUTED)
    with pytest.raises(NotReadyError, match="adjudicator"):
        claiming.claim(reviewer=annotator, role=Role.ADJUDICATOR)
    assert not claiming.workable(annotator, Role.ADJUDICATOR).exists()


def test_a_case_takes_as_many_people_as_labels_are_wanted(annotator: Reviewer, other_annotator: Reviewer) -> None:
    case = case_of()
    assert claim(annotator).case == case
    assert claim(other_annotator).case == case
    assert claiming.claim(reviewer=ready(), role=Role.ANNOTATOR) is None
    case.refresh_from_db()
    assert case.state == CaseState.LEASED
    assert what_happened(case) == [("queued", "leased", "taken"), ("leased", "leased", "taken")]


def test_a_locked_label_takes_a_place_too(annotator: Reviewer, other_annotator: Reviewer) -> None:
    case = case_of(state=CaseState.ONE_LABEL)
    reviewed(case, annotator, "CC")
    assert claim(other_annotator).case == case
    assert claiming.claim(reviewer=ready(), role=Role.ANNOTATOR) is None
    assert claiming.claim(reviewer=annotator, role=Role.ANNOTATOR) is None


@pytest.mark.parametrize("state", ["two_labels", "agreed", "disputed", "adjudicating", "final", "void", "reopened"])
def test_annotators_get_no_case_that_is_past_labelling(annotator: Reviewer, state: str) -> None:
    case_of(state=state)
    assert claiming.claim(reviewer=annotator, role=Role.ANNOTATOR) is None


@pytest.mark.parametrize("state", [state for state in CaseState.values if state != "disputed"])
def test_adjudicators_get_disputed_cases_only(adjudicator: Reviewer, state: str) -> None:
    case_of(state=state)
    assert claiming.claim(reviewer=adjudicator, role=Role.ADJUDICATOR) is None


def test_an_adjudicator_takes_a_dispute_for_one(adjudicator: Reviewer) -> None:
    case = case_of(state=CaseState.DISPUTED)
    assignment = claim(adjudicator, Role.ADJUDICATOR)
    assert (assignment.role, assignment.state) == (Role.ADJUDICATOR, AssignmentState.ACTIVE)
    case.refresh_from_db()
    assert case.state == CaseState.ADJUDICATING
    rival = ready(annotator=False, adjudicator=True)
    assert claiming.claim(reviewer=rival, role=Role.ADJUDICATOR) is None


def test_nobody_adjudicates_what_they_labelled(other_annotator: Reviewer) -> None:
    both = ready(adjudicator=True)
    case = case_of(state=CaseState.DISPUTED)
    reviewed(case, both, "CC")
    reviewed(case, other_annotator, "LI")
    assert claiming.claim(reviewer=both, role=Role.ADJUDICATOR) is None


def test_severe_cases_come_first_then_old_ones_then_by_place(annotator: Reviewer) -> None:
    late_audit = case_of(severity=Severity.AUDIT, place=1)
    old_audit = aged(case_of(severity=Severity.AUDIT, place=9), 3)
    second = case_of(severity=Severity.CONFLICT, place=8)
    first = case_of(severity=Severity.CONFLICT, place=7)
    order = []
    for _ in range(4):
        assignment = claim(annotator)
        order.append(assignment.case)
        holding.skip(assignment, reason=REASON)
    assert order == [first, second, old_audit, late_audit]


def test_what_one_handed_back_comes_last(annotator: Reviewer) -> None:
    severe, mild = case_of(severity=Severity.CONFLICT), case_of()
    holding.hand_back(claim(annotator))
    assert claim(annotator).case == mild
    holding.hand_back(Assignment.objects.get(case=mild))
    assert claim(annotator).case == severe


def test_a_repeat_is_for_its_person_when_it_is_due_and_stands_among_the_most_severe(
    annotator: Reviewer, other_annotator: Reviewer
) -> None:
    older, newer = aged(case_of(severity=Severity.CONFLICT), 20), case_of(severity=Severity.CONFLICT)
    repeat = case_of(kind=CaseKind.REPEAT, reserved_for=annotator, labels_wanted=1)
    mild = case_of(severity=Severity.AUDIT)
    everything = {older.pk, newer.pk, mild.pk}
    assert set(claiming.workable(annotator, Role.ANNOTATOR).values_list("pk", flat=True)) == everything
    aged(repeat, 8)
    assert set(claiming.workable(annotator, Role.ANNOTATOR).values_list("pk", flat=True)) == everything | {repeat.pk}
    assert set(claiming.workable(other_annotator, Role.ANNOTATOR).values_list("pk", flat=True)) == everything
    order = []
    for _ in range(4):
        assignment = claim(annotator)
        order.append(assignment.case)
        holding.skip(assignment, reason=REASON)
    assert order == [older, repeat, newer, mild]


def test_practice_is_not_claimed_nor_in_the_way_of_it(annotator: Reviewer) -> None:
    reviewed(case_of(kind=CaseKind.PRACTICE, known_label="CC"), annotator, "CC")
    assert claiming.claim(reviewer=annotator, role=Role.ANNOTATOR) is None
    assigned(case_of(kind=CaseKind.PRACTICE, known_label="LI", state=CaseState.VOID), annotator)
    case = case_of()
    assert claim(annotator).case == case


def test_a_heartbeat_renews_the_lease_even_late(annotator: Reviewer) -> None:
    case_of()
    assignment = claim(annotator)
    late(assignment)
    until = holding.extend(assignment)
    assert until == assignment.lease_until == Assignment.objects.get().lease_until
    assert until > timezone.now() + timedelta(minutes=29)


def test_a_heartbeat_of_what_is_not_held_any_more_says_why(annotator: Reviewer) -> None:
    case_of()
    assignment = claim(annotator)
    stale = Assignment.objects.get()
    late(assignment)
    assert holding.expire() == 1
    with pytest.raises(LeaseLostError, match="ran out"):
        holding.extend(stale)
    claim(annotator)
    with pytest.raises(LeaseLostError, match="another tab"):
        holding.extend(stale)
    assert Assignment.objects.get().lease_until > timezone.now()


def test_late_leases_expire_and_the_case_goes_back_to_the_queue(annotator: Reviewer, other_annotator: Reviewer) -> None:
    case = case_of()
    first, second = claim(annotator), claim(other_annotator)
    assert holding.expire() == 0
    late(first)
    assert holding.expire() == 1
    first.refresh_from_db()
    assert (first.state, first.lease_until) == (AssignmentState.EXPIRED, None)
    case.refresh_from_db()
    assert case.state == CaseState.LEASED
    late(second)
    assert holding.expire() == 1
    case.refresh_from_db()
    assert case.state == CaseState.QUEUED
    assert what_happened(case)[2:] == [("leased", "leased", "lease ran out"), ("leased", "queued", "lease ran out")]


def test_a_place_is_free_once_the_lease_ran_out(annotator: Reviewer) -> None:
    case = case_of(labels_wanted=1)
    late(claim(annotator))
    taken = claim(ready())
    assert taken.case == case
    assert Assignment.objects.get(reviewer=annotator).state == AssignmentState.EXPIRED


def test_a_case_with_a_label_keeps_it_when_a_lease_runs_out(annotator: Reviewer, other_annotator: Reviewer) -> None:
    case = case_of(state=CaseState.ONE_LABEL)
    reviewed(case, annotator, "CC")
    late(claim(other_annotator))
    holding.expire()
    case.refresh_from_db()
    assert case.state == CaseState.ONE_LABEL


def test_an_expired_case_is_taken_up_again_with_draft_and_new_token(annotator: Reviewer) -> None:
    case_of()
    first = claim(annotator)
    Assignment.objects.update(draft={"note": "half a thought"}, draft_version=3)
    late(first)
    holding.expire()
    again = claim(annotator)
    assert again.pk == first.pk
    assert (again.state, again.draft, again.draft_version) == ("active", {"note": "half a thought"}, 3)
    assert again.token != first.token
    assert again.ended is None


def test_an_adjudicators_lease_runs_out_for_another_one(adjudicator: Reviewer) -> None:
    case = case_of(state=CaseState.DISPUTED)
    late(claim(adjudicator, Role.ADJUDICATOR))
    holding.expire()
    case.refresh_from_db()
    assert case.state == CaseState.DISPUTED
    rival = ready(annotator=False, adjudicator=True)
    assert claim(rival, Role.ADJUDICATOR).case == case


def test_who_has_locked_the_blind_label_takes_the_case_up_at_the_evidence(adjudicator: Reviewer) -> None:
    case = case_of(state=CaseState.ADJUDICATING)
    assignment = labelled(case, adjudicator, "LC", role=Role.ADJUDICATOR)
    late(assignment)
    assert holding.expire() == 1
    again = claim(adjudicator, Role.ADJUDICATOR)
    assert (again.pk, again.state) == (assignment.pk, AssignmentState.EVIDENCE)


def test_only_ones_own_assignments_are_held(annotator: Reviewer, other_annotator: Reviewer) -> None:
    case_of()
    assignment = claim(annotator)
    Assignment.objects.update(state=AssignmentState.EXPIRED)
    assert holding.held(pk=assignment.pk, reviewer=annotator).state == AssignmentState.EXPIRED
    with pytest.raises(Assignment.DoesNotExist):
        holding.held(pk=assignment.pk, reviewer=other_annotator)


def test_handing_back_frees_the_place_and_keeps_the_draft(annotator: Reviewer) -> None:
    case = case_of()
    assignment = claim(annotator)
    Assignment.objects.update(draft={"note": "kept"})
    holding.hand_back(assignment)
    holding.hand_back(assignment)
    stored = Assignment.objects.get()
    assert (stored.state, stored.lease_until, stored.draft) == (AssignmentState.RETURNED, None, {"note": "kept"})
    case.refresh_from_db()
    assert case.state == CaseState.QUEUED
    assert what_happened(case)[1:] == [("leased", "queued", "handed back")]


def test_a_skipped_case_never_comes_back_to_the_same_person(annotator: Reviewer, other_annotator: Reviewer) -> None:
    case = case_of()
    assignment = claim(annotator)
    holding.skip(assignment, reason=f"  {REASON} ")
    stored = Assignment.objects.get()
    assert (stored.state, stored.skip_reason) == (AssignmentState.SKIPPED, REASON)
    assert claiming.claim(reviewer=annotator, role=Role.ANNOTATOR) is None
    assert claim(other_annotator).case == case


@pytest.mark.parametrize("reason", ["", "too short", "x" * 2001, "with a NUL \0 in it"])
def test_skipping_needs_a_reason(annotator: Reviewer, reason: str) -> None:
    case_of()
    assignment = claim(annotator)
    with pytest.raises(LabelError) as caught:
        holding.skip(assignment, reason=reason)
    assert set(caught.value.errors) == {"reason"}
    assert Assignment.objects.get().state == AssignmentState.ACTIVE


def test_an_expired_case_can_be_skipped_too(annotator: Reviewer) -> None:
    case_of()
    assignment = claim(annotator)
    late(assignment)
    holding.expire()
    holding.skip(assignment, reason=REASON)
    assert Assignment.objects.get().state == AssignmentState.SKIPPED


def test_a_locked_label_is_neither_handed_back_nor_skipped(annotator: Reviewer) -> None:
    assignment = labelled(case_of(state=CaseState.ONE_LABEL), annotator, "CC")
    with pytest.raises(LeaseLostError, match="locked"):
        holding.hand_back(assignment)
    with pytest.raises(LeaseLostError, match="locked"):
        holding.skip(assignment, reason=REASON)
    assert Assignment.objects.get().state == AssignmentState.DONE


def test_a_particular_item_is_taken_up_again(annotator: Reviewer) -> None:
    case_of(severity=Severity.CONFLICT)
    wanted = assigned(case_of(), annotator, state=AssignmentState.EXPIRED, lease_until=None)
    taken = claiming.take_up(wanted)
    assert (taken.pk, taken.state) == (wanted.pk, AssignmentState.ACTIVE)
    assert claiming.take_up(taken).pk == wanted.pk


def test_an_item_cannot_be_taken_up_again_when_others_have_it_or_another_is_held(annotator: Reviewer) -> None:
    gone = assigned(case_of(labels_wanted=1), annotator, state=AssignmentState.EXPIRED, lease_until=None)
    claim(ready())
    with pytest.raises(LeaseLostError, match="ran out"):
        claiming.take_up(gone)
    free = assigned(case_of(), annotator, state=AssignmentState.RETURNED, lease_until=None)
    assigned(case_of(state=CaseState.LEASED), annotator)
    with pytest.raises(LeaseLostError, match="another item"):
        claiming.take_up(free)
    free.refresh_from_db()
    assert free.state == AssignmentState.RETURNED


def test_a_practice_item_is_always_taken_up_again() -> None:
    newcomer = ReviewerFactory()
    practice = case_of(kind=CaseKind.PRACTICE, known_label="LI")
    handed_back = assigned(practice, newcomer)
    holding.hand_back(handed_back)
    taken = claiming.take_up(handed_back)
    assert taken.state == AssignmentState.ACTIVE
    late(taken)
    assert holding.expire() == 0
    assert not CaseEvent.objects.exists()


def test_counts_are_of_what_waits_for_this_person(annotator: Reviewer, other_annotator: Reviewer) -> None:
    held = case_of(state=CaseState.LEASED)
    assigned(held, annotator)
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
