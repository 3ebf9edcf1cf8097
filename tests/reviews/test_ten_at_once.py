"""Ten reviewers label at once on separate connections: no item is assigned twice, and no label is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db.models import Count
from django.utils import timezone

from reviews.cases import holding
from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.exceptions import LeaseLostError, StaleDraftError
from reviews.labelling import claiming, drafts, locking
from reviews.models import Assignment, Case, CaseEvent, Review
from tests.at_once import at_once
from tests.reviews.factories import FINDING, answers, case_of, ready

if TYPE_CHECKING:
    from reviews.models import Reviewer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

PEOPLE = 10
CASES = 12
LATE = 3
"""Number of reviewers whose leases run out while they work."""


class Person:
    """Label items until none is left, every second person with CC, the others with LI; return the first item once."""

    def __init__(self, number: int) -> None:
        self.number, self.reviewer = number, ready()
        self.label, self.findings = ("CC", []) if number % 2 else ("LI", [FINDING])
        self.locked: list[tuple[int, int]] = []
        self.refused: list[int] = []

    def work(self) -> None:
        first = True
        while assignment := claiming.claim(reviewer=self.reviewer, role=Role.ANNOTATOR):
            note = f"{self.number} on {assignment.case_id}"
            version = assignment.draft_version
            drafts.save_draft(assignment=assignment, draft={"note": note}, version=version, active_seconds=1)
            if first:
                holding.hand_back(assignment)
            else:
                self._lock(assignment, note)
            first = False

    def _lock(self, assignment: Assignment, note: str) -> None:
        if self.number < LATE:
            Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        given: dict[str, Any] = {"label": self.label, "confidence": 3, "findings": self.findings, "note": note}
        try:
            review = locking.lock(assignment=assignment, **given)
        except LeaseLostError:
            self.refused.append(assignment.pk)
        else:
            self.locked.append((assignment.case_id, review.pk))


def test_no_item_is_handed_out_twice_and_no_label_is_lost() -> None:
    for answer in answers(CASES):
        case_of(answer)
    people = [Person(number) for number in range(PEOPLE)]
    at_once(Person.work, people)

    locked = sorted(pair for person in people for pair in person.locked)
    assert locked == sorted(Review.objects.values_list("case_id", "pk"))
    assert len(locked) == 2 * CASES
    per_case = Review.objects.order_by().values_list("case").annotate(Count("reviewer", distinct=True))
    assert set(per_case.values_list("reviewer__count", flat=True)) == {2}
    numbers = {person.reviewer.pk: person.number for person in people}
    for review in Review.objects.select_related("assignment"):
        assert review.note == f"{numbers[review.reviewer_id]} on {review.case_id}"
        assert review.assignment.state == AssignmentState.DONE
    for person in people:
        assert len({case for case, _ in person.locked}) == len(person.locked)
        for refused in Assignment.objects.filter(pk__in=person.refused, state=AssignmentState.EXPIRED):
            assert refused.draft["note"] == f"{person.number} on {refused.case_id}"
    assert not Assignment.objects.filter(state=AssignmentState.ACTIVE).exists()
    # Some labels may have been drawn for repeating; these are other cases.
    for case in Case.objects.filter(kind=CaseKind.REVIEW):
        labels = list(case.reviews.values_list("label", flat=True))
        assert case.state == (CaseState.AGREED if labels[0] == labels[1] else CaseState.DISPUTED)
        assert CaseEvent.objects.filter(case=case, after=CaseState.TWO_LABELS).count() == 1


def claim(reviewer: Reviewer, role: Role = Role.ANNOTATOR) -> Assignment | None:
    return claiming.claim(reviewer=reviewer, role=role)


def test_two_tabs_of_one_annotator_hold_one_item(annotator: Reviewer) -> None:
    for answer in answers(4):
        case_of(answer)
    held = at_once(claim, [annotator] * 4)
    assert (len({each.pk for each in held}), Assignment.objects.count()) == (1, 1)


def test_one_of_several_simultaneous_adjudicators_gets_the_case() -> None:
    case_of(state=CaseState.DISPUTED)
    people = [ready(annotator=False, adjudicator=True) for _ in range(4)]
    got = at_once(lambda person: claim(person, Role.ADJUDICATOR) is not None, people)
    assert sorted(got) == [False, False, False, True]


def test_one_label_sent_from_several_tabs_at_once_is_stored_once(annotator: Reviewer) -> None:
    case_of()
    claim(annotator)

    def lock(pk: int) -> int:
        own = Assignment.objects.select_related("case", "reviewer").get(pk=pk)
        return locking.lock(assignment=own, label="CC", confidence=3, findings=[]).pk

    assert len(set(at_once(lock, [Assignment.objects.get().pk] * 4))) == 1
    assert Review.objects.count() == 1


def test_one_of_several_simultaneous_saves_is_stored(annotator: Reviewer) -> None:
    case_of()
    claim(annotator)
    pk = Assignment.objects.get().pk
    tabs = [(number, Assignment.objects.select_related("case", "reviewer").get(pk=pk)) for number in range(4)]

    def save(tab: tuple[int, Assignment]) -> int:
        number, own = tab
        try:
            return drafts.save_draft(assignment=own, draft={"note": f"tab {number}"}, version=0)
        except StaleDraftError:
            return 0

    assert sorted(at_once(save, tabs)) == [0, 0, 0, 1]
    assert Assignment.objects.get().draft_version == 1
