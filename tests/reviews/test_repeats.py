"""Labelling an answer once more."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from reviews.enums import CaseKind, CaseState, Role
from reviews.labelling.repeats import due_repeats, plan_repeat
from reviews.models import Case, Reviewer
from tests.reviews.factories import ReviewerFactory, answers, case_of, reviewed, shares

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def all_are_drawn(settings: Any) -> None:
    """Every label is repeated."""
    shares(settings, repeat=1)


def repeat_of(reviewer: Reviewer, days: float = 0, **facts: Any) -> Case:
    case = case_of(kind=CaseKind.REPEAT, reserved_for=reviewer, labels_wanted=1, **facts)
    Case.objects.filter(pk=case.pk).update(created=timezone.now() - timedelta(days=days))
    return case


def test_a_repeat_is_the_same_annotators_wants_one_label_and_comes_once() -> None:
    case = case_of()
    one, other = reviewed(case, ReviewerFactory(), "LC"), reviewed(case, ReviewerFactory(), "LC")
    repeat, again, others = (plan_repeat(review) for review in (one, one, other))
    assert repeat is not None
    assert (repeat.kind, repeat.state, repeat.labels_wanted) == ("repeat", "queued", 1)
    assert (repeat.implementation_id, repeat.reserved_for) == (case.implementation_id, one.reviewer)
    assert [event.after for event in repeat.events.all()] == ["queued"]
    assert (again, others is not None, Case.objects.filter(kind=CaseKind.REPEAT).count()) == (None, True, 2)


def test_only_what_is_drawn(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shares(settings, repeat=0.07)
    review = reviewed(case_of(), ReviewerFactory(), "LC")
    asked = []
    monkeypatch.setattr("reviews.labelling.repeats.drawn", lambda *args: asked.append(args))
    assert plan_repeat(review) is None
    assert asked == [("repeat", review.pk, 0.07)]


@pytest.mark.parametrize(
    ("kind", "person", "role"),
    [
        (CaseKind.PRACTICE, {}, Role.ANNOTATOR),
        (CaseKind.REPEAT, {}, Role.ANNOTATOR),
        (CaseKind.REVIEW, {"adjudicator": True}, Role.ADJUDICATOR),
        (CaseKind.REVIEW, {"user": None}, Role.ANNOTATOR),
    ],
)
def test_practice_repeats_adjudicators_and_who_has_no_account_are_not_repeated(
    kind: CaseKind, person: dict[str, Any], role: Role
) -> None:
    assert plan_repeat(reviewed(case_of(kind=kind), ReviewerFactory(**person), "LC", role=role)) is None


class TestDue:
    def test_after_twenty_other_labels(self, reviewer: Reviewer) -> None:
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

    def test_after_seven_days_unless_it_is_done(self, reviewer: Reviewer) -> None:
        repeat_of(reviewer, days=6.999)
        assert list(due_repeats(reviewer)) == []
        for state in (CaseState.AGREED, CaseState.VOID):
            repeat_of(reviewer, days=8, state=state)
        assert list(due_repeats(reviewer)) == []
        assert repeat_of(reviewer, days=7) in due_repeats(reviewer)
