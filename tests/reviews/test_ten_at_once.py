"""Ten people label at once, each on a connection of their own: nothing is handed out twice, and no label is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from django.db import connections
from django.db.models import Count
from django.utils import timezone

from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.exceptions import LeaseLostError, StaleDraftError
from reviews.labelling import claiming, drafts, holding, locking
from reviews.models import Assignment, Case, CaseEvent, Review
from tests.reviews.factories import FINDING, answers, case_of, ready

if TYPE_CHECKING:
    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = 10
CASES = 12
LATE = 3
"""So many of the people let their leases run out while they work."""


class Person:
    """Takes items until none is left; every second one says CC, the others LI. The first item is handed back once."""

    def __init__(self, number: int, reviewer: Reviewer, start: Barrier) -> None:
        self.number, self.reviewer, self.start = number, reviewer, start
        self.label, self.findings = ("CC", []) if number % 2 else ("LI", [FINDING])
        self.locked: list[tuple[int, int]] = []
        self.refused: list[int] = []

    def work(self) -> Person:
        try:
            self.start.wait(timeout=30)
            number = 0
            while assignment := claiming.claim(reviewer=self.reviewer, role=Role.ANNOTATOR):
                self._label(assignment, hands_back=number == 0)
                number += 1
            return self
        finally:
            connections.close_all()

    def _label(self, assignment: Assignment, *, hands_back: bool) -> None:
        note = f"{self.number} on {assignment.case_id}"
        version = assignment.draft_version
        drafts.save_draft(assignment=assignment, draft={"note": note}, version=version, active_seconds=1)
        if hands_back:
            holding.hand_back(assignment)
            return
        if self.number < LATE:
            Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        try:
            review = locking.lock(
                assignment=assignment, label=self.label, confidence=3, findings=self.findings, note=note
            )
        except LeaseLostError:
            self.refused.append(assignment.pk)
        else:
            self.locked.append((assignment.case_id, review.pk))


def test_no_item_is_handed_out_twice_and_no_label_is_lost() -> None:
    for answer in answers(CASES):
        case_of(answer)
    start = Barrier(PEOPLE)
    people = [Person(number, ready(), start) for number in range(PEOPLE)]
    with ThreadPoolExecutor(PEOPLE) as pool:
        done = list(pool.map(Person.work, people))

    locked = sorted(pair for person in done for pair in person.locked)
    assert locked == sorted(Review.objects.values_list("case_id", "pk"))
    assert len(locked) == 2 * CASES
    per_case = Review.objects.order_by().values_list("case").annotate(Count("reviewer", distinct=True))
    assert set(per_case.values_list("reviewer__count", flat=True)) == {2}
    for review in Review.objects.select_related("reviewer", "assignment"):
        assert review.note == f"{people_by_pk(people)[review.reviewer_id].number} on {review.case_id}"
        assert review.assignment.state == AssignmentState.DONE
    for person in done:
        assert len({case for case, _ in person.locked}) == len(person.locked)
        for refused in Assignment.objects.filter(pk__in=person.refused, state=AssignmentState.EXPIRED):
            assert refused.draft["note"] == f"{person.number} on {refused.case_id}"
    assert not Assignment.objects.filter(state=AssignmentState.ACTIVE).exists()
    # Some labels may have been drawn to be repeated later: these are other cases.
    for case in Case.objects.filter(kind=CaseKind.REVIEW):
        labels = list(case.reviews.values_list("label", flat=True))
        assert case.state == (CaseState.AGREED if labels[0] == labels[1] else CaseState.DISPUTED)
        assert CaseEvent.objects.filter(case=case, after=CaseState.TWO_LABELS).count() == 1


def people_by_pk(people: list[Person]) -> dict[int, Person]:
    """Each person by the reviewer's id."""
    return {person.reviewer.pk: person for person in people}


def test_two_tabs_of_one_person_hold_one_item() -> None:
    for answer in answers(4):
        case_of(answer)
    reviewer, start = ready(), Barrier(4)

    def claim(_: int) -> int:
        try:
            start.wait(timeout=30)
            assignment = claiming.claim(reviewer=reviewer, role=Role.ANNOTATOR)
            assert assignment is not None
            return assignment.pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(claim, range(4)))) == 1
    assert Assignment.objects.count() == 1


def test_of_two_adjudicators_at_once_one_gets_the_case() -> None:
    case_of(state=CaseState.DISPUTED)
    start = Barrier(4)

    def claim(reviewer: Reviewer) -> bool:
        try:
            start.wait(timeout=30)
            return claiming.claim(reviewer=reviewer, role=Role.ADJUDICATOR) is not None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(claim, [ready(annotator=False, adjudicator=True) for _ in range(4)]))
    assert sorted(got) == [False, False, False, True]


def test_one_label_sent_from_two_tabs_at_once_is_stored_once() -> None:
    case_of()
    reviewer, start = ready(), Barrier(4)
    held = claiming.claim(reviewer=reviewer, role=Role.ANNOTATOR)
    assert held is not None

    def lock(_: int) -> int:
        try:
            start.wait(timeout=30)
            own = holding.held(pk=held.pk, reviewer=reviewer)
            return locking.lock(assignment=own, label="CC", confidence=3, findings=[]).pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lock, range(4)))) == 1
    assert Review.objects.count() == 1


def test_of_two_tabs_that_save_at_once_one_is_told_that_it_is_stale() -> None:
    case_of()
    reviewer, start = ready(), Barrier(4)
    held = claiming.claim(reviewer=reviewer, role=Role.ANNOTATOR)
    assert held is not None

    def save(number: int) -> int:
        try:
            own = holding.held(pk=held.pk, reviewer=reviewer)
            start.wait(timeout=30)
            return drafts.save_draft(assignment=own, draft={"note": f"tab {number}"}, version=0)
        except StaleDraftError:
            return 0
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(save, range(4))) == [0, 0, 0, 1]
    assert Assignment.objects.get().draft_version == 1
