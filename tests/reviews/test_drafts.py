"""Drafts: kept as typed, never overwritten by an older tab, and never lost with a lease."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import time_machine

from reviews.enums import AssignmentState, Role
from reviews.exceptions import LeaseLostError, StaleDraftError
from reviews.labelling.drafts import keep, save_draft
from reviews.models import Assignment
from tests.reviews.factories import assigned, case_of, labelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db

DRAFT: dict[str, Any] = {
    "label": "LC",
    "confidence": 2,
    "findings": [{"side": "golden", "start": "1", "end": None, "text": "  as\ttyped \r\n\n", "error_class": ""}],
    "note": " trailing blanks  \n",
    "paper_page": 3,
    "view": {"diff": "unified", "whitespace": False, "search": "loss 🙂"},
}


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    """A clock that only the test moves."""
    with time_machine.travel(datetime(2026, 5, 4, 9, 0, tzinfo=UTC), tick=False) as traveller:
        yield traveller


@pytest.fixture
def assignment(clock: time_machine.Traveller, annotator: Reviewer) -> Assignment:
    """Just taken."""
    return assigned(case_of(), annotator)


def test_a_draft_is_kept_as_it_was_typed(assignment: Assignment, clock: time_machine.Traveller) -> None:
    clock.shift(5)
    assert save_draft(assignment=assignment, draft=DRAFT, version=0, active_seconds=4) == 1
    stored = Assignment.objects.get()
    assert stored.draft == DRAFT
    assert (stored.draft_version, stored.active_seconds) == (1, 4)
    assert stored.draft_saved == datetime(2026, 5, 4, 9, 0, 5, tzinfo=UTC)
    assert (assignment.draft_version, assignment.active_seconds) == (1, 4)


def test_a_newer_draft_is_not_overwritten(assignment: Assignment) -> None:
    save_draft(assignment=assignment, draft=DRAFT, version=0)
    save_draft(assignment=assignment, draft={**DRAFT, "note": "newer"}, version=1)
    with pytest.raises(StaleDraftError, match="Another tab") as caught:
        save_draft(assignment=assignment, draft={"note": "older"}, version=1)
    assert (caught.value.version, caught.value.draft) == (2, {**DRAFT, "note": "newer"})
    with pytest.raises(StaleDraftError):
        save_draft(assignment=assignment, draft={"note": "from nowhere"}, version=7)
    assert Assignment.objects.get().draft["note"] == "newer"


def test_a_save_whose_answer_was_lost_may_be_sent_again(assignment: Assignment, clock: time_machine.Traveller) -> None:
    clock.shift(10)
    assert save_draft(assignment=assignment, draft=DRAFT, version=0, active_seconds=8) == 1
    assert save_draft(assignment=assignment, draft=DRAFT, version=0, active_seconds=8) == 1
    stored = Assignment.objects.get()
    assert (stored.draft_version, stored.active_seconds) == (1, 8)


def test_no_more_active_time_counts_than_has_passed(assignment: Assignment, clock: time_machine.Traveller) -> None:
    clock.shift(30)
    save_draft(assignment=assignment, draft=DRAFT, version=0, active_seconds=20)
    clock.shift(10)
    save_draft(assignment=assignment, draft=DRAFT, version=1, active_seconds=20)
    assert Assignment.objects.get().active_seconds == 30
    save_draft(assignment=assignment, draft=DRAFT, version=2, active_seconds=20)
    save_draft(assignment=assignment, draft=DRAFT, version=3, active_seconds=-5)
    assert Assignment.objects.get().active_seconds == 30


def test_an_unmoved_clock_counts_nothing_for_a_second_tab(
    assignment: Assignment, clock: time_machine.Traveller
) -> None:
    for _ in range(4):
        clock.shift(timedelta(seconds=5))
        save_draft(assignment=assignment, draft=DRAFT, version=0, active_seconds=5)
        save_draft(assignment=assignment, draft=DRAFT, version=0, active_seconds=5)
    assert Assignment.objects.get().active_seconds == 20


@pytest.mark.parametrize(
    ("state", "why"), [("expired", "ran out"), ("returned", "handed back"), ("skipped", "skipped")]
)
def test_the_draft_of_a_lost_item_is_kept(assignment: Assignment, state: str, why: str) -> None:
    Assignment.objects.update(state=state, lease_until=None)
    with pytest.raises(LeaseLostError, match=f"{why}.*is kept"):
        save_draft(assignment=assignment, draft=DRAFT, version=0)
    stored = Assignment.objects.get()
    assert (stored.draft, stored.draft_version, stored.state) == (DRAFT, 1, state)


def test_what_is_locked_has_no_draft(annotator: Reviewer) -> None:
    locked = labelled(case_of(), annotator, "CC")
    with pytest.raises(LeaseLostError, match="locked"):
        save_draft(assignment=locked, draft=DRAFT, version=0)
    keep(locked, {"note": "later"})
    assert Assignment.objects.get().draft == {}


def test_an_adjudicator_keeps_what_explains_a_decision(adjudicator: Reviewer) -> None:
    deciding = labelled(case_of(), adjudicator, "LC", role=Role.ADJUDICATOR)
    draft = {"label": "CC", "reasons": ["rubric_gap"], "note": "Both read it"}
    save_draft(assignment=deciding, draft=draft, version=0)
    stored = Assignment.objects.get()
    assert (stored.state, stored.draft) == (AssignmentState.EVIDENCE, draft)


def test_what_could_not_be_locked_goes_over_the_draft_and_makes_older_tabs_stale(assignment: Assignment) -> None:
    save_draft(assignment=assignment, draft=DRAFT, version=0)
    keep(assignment, {"label": "LI", "note": "final words"})
    stored = Assignment.objects.get()
    assert stored.draft == {**DRAFT, "label": "LI", "note": "final words"}
    assert stored.draft_version == 2
    keep(assignment, {"label": "LI"})
    assert Assignment.objects.get().draft_version == 2
