"""A case moves only from where it was seen to be, and every move leaves an event."""

from __future__ import annotations

import pytest
from django.utils import timezone

from reviews.cases import states
from reviews.enums import CaseState
from reviews.models import Case, CaseEvent
from tests.reviews.factories import ReviewerFactory, case_of

pytestmark = pytest.mark.django_db


def test_a_move_sets_state_and_fields_and_leaves_an_event() -> None:
    case, reviewer, now = case_of(), ReviewerFactory(), timezone.now()
    moved = states.move(
        case,
        allowed=[CaseState.QUEUED, CaseState.LEASED],
        after=CaseState.AGREED,
        reviewer=reviewer,
        what="the labels agree",
        label="LC",
        settled=now,
    )
    assert moved
    assert (case.state, case.label, case.settled) == (CaseState.AGREED, "LC", now)
    stored = Case.objects.get()
    assert (stored.state, stored.label, stored.settled) == (CaseState.AGREED, "LC", now)
    event = CaseEvent.objects.get()
    assert (event.before, event.after, event.reviewer, event.what) == ("queued", "agreed", reviewer, "the labels agree")


def test_a_move_from_another_state_changes_nothing() -> None:
    case = case_of(state=CaseState.FINAL)
    assert not states.move(case, allowed=[CaseState.QUEUED], after=CaseState.LEASED, severity=60)
    assert (case.state, case.severity) == (CaseState.FINAL, 10)
    assert Case.objects.get().state == CaseState.FINAL
    assert not CaseEvent.objects.exists()


def test_a_row_that_was_read_before_somebody_else_moved_it_moves_nothing() -> None:
    case = case_of()
    Case.objects.update(state=CaseState.LEASED)
    assert not states.move(case, allowed=[CaseState.QUEUED, CaseState.LEASED], after=CaseState.ONE_LABEL)
    assert Case.objects.get().state == CaseState.LEASED
    fresh = states.hold(case.pk)
    assert states.move(fresh, allowed=[CaseState.QUEUED, CaseState.LEASED], after=CaseState.ONE_LABEL)
    assert Case.objects.get().state == CaseState.ONE_LABEL
