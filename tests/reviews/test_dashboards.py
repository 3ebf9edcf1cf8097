"""The numbers of the dashboard: what waits, and what each person has done, from settled cases only."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from reviews.enums import OPEN, AssignmentState, CaseKind, CaseState, Role, Severity, TriggerKind
from reviews.models import Case, Reviewer, Trigger
from reviews.record.dashboards import (
    Pairs,
    Work,
    cases,
    people_at_work,
    queue,
    reasons,
    work,
)
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, decided, reviewed
from tests.reviews.settled import settled

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries

pytestmark = pytest.mark.django_db


def of(person: Reviewer) -> Work:
    (found,) = work([person])
    return found


def test_the_queue_tells_states_severities_and_ages() -> None:
    for state, severity, days in (
        (CaseState.QUEUED, Severity.AUDIT, 3),
        (CaseState.QUEUED, Severity.AUDIT, 9),
        (CaseState.QUEUED, Severity.CONFLICT, 1),
        (CaseState.DISPUTED, Severity.CONFLICT, 2),
        (CaseState.AGREED, Severity.AUDIT, 30),
        (CaseState.VOID, Severity.AUDIT, 30),
    ):
        case = case_of(state=state, severity=severity)
        Case.objects.filter(pk=case.pk).update(created=timezone.now() - timedelta(days=days))
    case_of(kind=CaseKind.PRACTICE, known_label="CC")
    lines = queue(closed=(), by_severity=True)
    assert [(line.state, line.severity, line.count, line.percent) for line in lines] == [
        (CaseState.QUEUED, Severity.CONFLICT, 1, 50),
        (CaseState.QUEUED, Severity.AUDIT, 2, 100),
        (CaseState.DISPUTED, Severity.CONFLICT, 1, 50),
    ]
    assert [(timezone.now() - line.oldest).days for line in lines] == [1, 9, 2]
    lines = queue(closed=(), by_severity=False)
    assert [(line.state, line.severity, line.count) for line in lines] == [
        *((CaseState.QUEUED, None, 3), (CaseState.DISPUTED, None, 1)),
    ]


def test_reasons_tell_why_cases_wait_and_since_when() -> None:
    kinds = TriggerKind
    for state, days, found in (
        (CaseState.QUEUED, 3, [kinds.AUDIT]),
        (CaseState.LEASED, 9, [kinds.AUDIT, kinds.JUDGE_UNSURE]),
        (CaseState.DISPUTED, 2, [kinds.APPEAL]),
        (CaseState.AGREED, 30, [kinds.AUDIT]),
        (CaseState.VOID, 30, [kinds.APPEAL]),
        (CaseState.REOPENED, 30, [kinds.APPEAL]),
    ):
        case = case_of(state=state)
        Case.objects.filter(pk=case.pk).update(created=timezone.now() - timedelta(days=days))
        for kind in found:
            Trigger.objects.create(case=case, kind=kind)
    lines = reasons(closed=())
    assert [(line.kind, line.count, line.percent) for line in lines] == [
        (kinds.JUDGE_UNSURE, 1, 50),
        (kinds.APPEAL, 1, 50),
        (kinds.AUDIT, 2, 100),
    ]
    assert [(timezone.now() - line.oldest).days for line in lines] == [9, 2, 9]
    assert reasons(closed=set(Case.objects.values_list("implementation", flat=True))) == []


def test_open_states_are_those_that_are_not_settled() -> None:
    settled_states = {CaseState.AGREED, CaseState.FINAL, CaseState.VOID, CaseState.REOPENED}
    assert set(OPEN) == set(CaseState) - settled_states


def test_closed_answers_are_left_out() -> None:
    case = case_of(state=CaseState.QUEUED)
    closed = {case.implementation_id}
    assert queue(closed=closed, by_severity=True) == []
    assert list(cases(closed=closed, viewer=None)) == []
    assert list(cases(closed=(), viewer=None)) == [case]


def test_agreement_is_of_settled_cases() -> None:
    one, two, three = (ReviewerFactory() for _ in range(3))
    agreed, differing, opposed, waiting = answers(4)
    case = settled(agreed, 1, state=CaseState.AGREED, label="CC", source="agreed")
    reviewed(case, one, "CC")
    reviewed(case, two, "CC")
    case = settled(differing, 2, state=CaseState.FINAL, label="LC", source="decision")
    reviewed(case, one, "LC")
    reviewed(case, two, "CC")
    reviewed(case, three, "LI", role=Role.ADJUDICATOR)
    decided(case, three, "LC")
    case = settled(opposed, 3, state=CaseState.FINAL, label="LI", source="decision")
    reviewed(case, one, "CC")
    reviewed(case, two, "LI")
    decided(case, three, "LI")
    case = case_of(waiting, state=CaseState.DISPUTED)
    reviewed(case, one, "LC")
    reviewed(case, two, "LI")
    assert of(one).peers == Pairs(n=3, same=1, opposed=1)
    assert of(two).peers == Pairs(n=3, same=1, opposed=1)
    assert of(three).peers == Pairs()
    assert of(one).decided == Pairs(n=2, same=1, opposed=1)
    assert of(two).decided == Pairs(n=2, same=1, opposed=0)
    assert of(one).peers.percent == 33.3
    assert Pairs().percent is None
    assert (of(one).labels, of(three).labels, of(three).decisions) == (4, 1, 2)


def test_repeats_are_compared_with_the_own_first_label() -> None:
    one, two = ReviewerFactory(), ReviewerFactory()
    first, second = answers(2)
    for answer, label in ((first, "CC"), (second, "LI")):
        case = settled(answer, 1, state=CaseState.AGREED, label=label, source="agreed")
        reviewed(case, one, label)
        reviewed(case, two, label)
    for answer, label in ((first, "CC"), (second, "CC")):
        case = settled(answer, 5, kind=CaseKind.REPEAT, state=CaseState.AGREED, reserved_for=one)
        reviewed(case, one, label)
    assert of(one).again == Pairs(n=2, same=1, opposed=1)
    assert of(one).peers == Pairs(n=2, same=2, opposed=0)
    assert of(two).again == Pairs()


def test_work_counts_time_skips_and_leases() -> None:
    person = ReviewerFactory()
    now = timezone.now()
    for number, (seconds, days) in enumerate(((30, 1), (90, 2), (400, 9))):
        case = settled(answers()[0], number, state=CaseState.AGREED, label="CC", source="single")
        reviewed(case, person, "CC", active_seconds=seconds, locked=now - timedelta(days=days))
    practice = case_of(kind=CaseKind.PRACTICE, known_label="CC")
    reviewed(practice, person, "CC", active_seconds=5000)
    assigned(case_of(), person, state=AssignmentState.SKIPPED)
    assigned(case_of(), person, state=AssignmentState.EXPIRED)
    assigned(case_of(kind=CaseKind.PRACTICE, known_label="LI"), person, state=AssignmentState.EXPIRED)
    assigned(case_of(), ReviewerFactory(), state=AssignmentState.EXPIRED)
    found = of(person)
    assert (found.labels, found.last_days, found.seconds) == (3, 2, 90)
    assert (found.skipped, found.expired) == (1, 1)
    assert of(ReviewerFactory()).seconds is None


def test_people_at_work_are_those_who_may_label_or_have() -> None:
    active = ReviewerFactory(pseudonym="A")
    former = ReviewerFactory(pseudonym="B", active=False)
    reviewed(case_of(), former, "CC")
    ReviewerFactory(pseudonym="C", active=False)
    ReviewerFactory(pseudonym="D", annotator=False)
    judge = ReviewerFactory(pseudonym="E", annotator=False, adjudicator=True)
    assert people_at_work() == [active, former, judge]


def test_a_coming_repeat_is_hidden_from_whom_it_waits_for() -> None:
    one, two = ReviewerFactory(), ReviewerFactory()
    repeat = case_of(kind=CaseKind.REPEAT, reserved_for=one)
    assert list(cases(closed=(), viewer=one)) == []
    assert list(cases(closed=(), viewer=two)) == [repeat]
    Case.objects.filter(pk=repeat.pk).update(state=CaseState.AGREED, settled=timezone.now())
    assert list(cases(closed=(), viewer=one)) == [repeat]


def test_cases_are_filtered_by_state() -> None:
    open_one, done = case_of(), case_of(state=CaseState.AGREED)
    assert list(cases(closed=(), viewer=None)) == [done, open_one]
    assert list(cases(closed=(), viewer=None, state="agreed")) == [done]


@pytest.mark.parametrize("number", [1, 3])
def test_queries_do_not_grow(number: int, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    people = [ReviewerFactory() for _ in range(2)]
    for answer in answers(number):
        case = settled(answer, 1, state=CaseState.FINAL, label="CC", source="decision")
        for person in people:
            reviewed(case, person, "CC")
        decided(case, ReviewerFactory(adjudicator=True), "CC")
    with django_assert_num_queries(4):
        assert of(people[0]).peers.n == number
