"""Labelling an answer once more."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from reviews.enums import CaseKind, CaseState, Role
from reviews.labelling.repeats import due_repeats, plan_repeat
from reviews.models import Case, Reviewer
from tests.reviews.factories import ReviewerFactory, answers, case_of, reviewed
from tests.reviews.rating import shares

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def all_are_drawn(settings: Any) -> None:
    """Every label is repeated."""
    shares(settings, repeat=1)


def repeat_of(reviewer: Reviewer, **facts: Any) -> Case:
    return case_of(kind=CaseKind.REPEAT, reserved_for=reviewer, labels_wanted=1, **facts)


def test_a_repeat_is_the_same_persons_and_wants_one_label() -> None:
    review = reviewed(case_of(), ReviewerFactory(), "LC")
    case = plan_repeat(review)
    assert case is not None
    assert (case.kind, case.state, case.labels_wanted) == ("repeat", "queued", 1)
    assert (case.implementation_id, case.reserved_for) == (review.case.implementation_id, review.reviewer)
    assert [event.after for event in case.events.all()] == ["queued"]


def test_once_for_each_person_and_answer() -> None:
    case = case_of()
    one, other = reviewed(case, ReviewerFactory(), "LC"), reviewed(case, ReviewerFactory(), "LC")
    assert [plan_repeat(review) is not None for review in (one, one, other)] == [True, False, True]
    assert Case.objects.filter(kind=CaseKind.REPEAT).count() == 2


def test_only_what_is_drawn(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shares(settings, repeat=0.07)
    review = reviewed(case_of(), ReviewerFactory(), "LC")
    asked = []
    monkeypatch.setattr("reviews.labelling.repeats.drawn", lambda *args: asked.append(args))
    assert plan_repeat(review) is None
    assert asked == [("repeat", review.pk, 0.07)]


@pytest.mark.parametrize("kind", [CaseKind.PRACTICE, CaseKind.REPEAT])
def test_practice_and_repeats_are_not_repeated(kind: CaseKind) -> None:
    assert plan_repeat(reviewed(case_of(kind=kind), ReviewerFactory(), "LC")) is None


def test_adjudicators_and_people_without_an_account_are_not_asked_again() -> None:
    case = case_of()
    assert plan_repeat(reviewed(case, ReviewerFactory(adjudicator=True), "LC", role=Role.ADJUDICATOR)) is None
    assert plan_repeat(reviewed(case, ReviewerFactory(user=None), "LC")) is None


class TestDue:
    def test_after_twenty_other_labels(self) -> None:
        stranger, reviewer = ReviewerFactory(), ReviewerFactory()
        case = repeat_of(reviewer)
        for answer in answers(20):
            reviewed(case_of(answer), stranger, "LC")
        earlier = case.created - timedelta(minutes=1)
        for answer in answers(19):
            reviewed(case_of(answer), reviewer, "LC")
        labelled_before, practised = (case_of(answer) for answer in answers(2))
        reviewed(labelled_before, reviewer, "LC", locked=earlier)
        Case.objects.filter(pk=practised.pk).update(kind=CaseKind.PRACTICE)
        reviewed(practised, reviewer, "LC")
        assert list(due_repeats(reviewer)) == []
        reviewed(case_of(), reviewer, "LC")
        assert list(due_repeats(reviewer)) == [case]
        assert list(due_repeats(stranger)) == []

    def test_after_seven_days(self) -> None:
        reviewer = ReviewerFactory()
        case = repeat_of(reviewer)
        Case.objects.update(created=timezone.now() - timedelta(days=7, seconds=-60))
        assert list(due_repeats(reviewer)) == []
        Case.objects.update(created=timezone.now() - timedelta(days=7))
        assert list(due_repeats(reviewer)) == [case]

    @pytest.mark.parametrize("state", [CaseState.AGREED, CaseState.VOID])
    def test_not_what_is_done(self, state: CaseState) -> None:
        reviewer = ReviewerFactory()
        repeat_of(reviewer, state=state)
        Case.objects.update(created=timezone.now() - timedelta(days=8))
        assert list(due_repeats(reviewer)) == []
