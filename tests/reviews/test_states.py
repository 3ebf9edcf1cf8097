"""A case moves only from where it was seen to be, and every move leaves an event."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from reviews.cases import states
from reviews.enums import OPEN, CaseState
from reviews.models import Case, CaseEvent
from tests.reviews.factories import ReviewerFactory, case_of

pytestmark = pytest.mark.django_db
WAITING = [CaseState.QUEUED, CaseState.LEASED]


def test_a_move_sets_state_and_fields_and_leaves_an_event() -> None:
    case, reviewer, now = case_of(), ReviewerFactory(), timezone.now()
    facts: dict[str, Any] = {"reviewer": reviewer, "what": "the labels agree", "label": "LC", "closed": now}
    assert states.move(case, allowed=WAITING, after=CaseState.AGREED, **facts)
    stored = Case.objects.get()
    for each in (case, stored):
        assert (each.state, each.label, each.closed) == (CaseState.AGREED, "LC", now)
    event = CaseEvent.objects.get()
    assert (event.before, event.after, event.reviewer, event.what) == ("queued", "agreed", reviewer, "the labels agree")


def test_a_move_from_another_state_changes_nothing() -> None:
    case = case_of(state=CaseState.FINAL)
    assert not states.move(case, allowed=[CaseState.QUEUED], after=CaseState.LEASED, severity=60)
    assert (case.state, case.severity, Case.objects.get().state) == (CaseState.FINAL, 10, CaseState.FINAL)
    assert not CaseEvent.objects.exists()


def test_a_row_that_was_read_before_somebody_else_moved_it_moves_nothing() -> None:
    case = case_of()
    Case.objects.update(state=CaseState.LEASED)
    assert not states.move(case, allowed=WAITING, after=CaseState.ONE_LABEL)
    assert Case.objects.get().state == CaseState.LEASED
    assert states.move(states.hold(case.pk), allowed=WAITING, after=CaseState.ONE_LABEL)
    assert Case.objects.get().state == CaseState.ONE_LABEL


def test_open_states_are_those_that_are_not_closed() -> None:
    assert set(OPEN) == set(CaseState) - {CaseState.AGREED, CaseState.FINAL, CaseState.VOID, CaseState.REOPENED}
