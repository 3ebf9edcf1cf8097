"""Drafts: kept as typed, never overwritten by an older tab, and never lost with a lease."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import time_machine

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


def test_a_draft_is_kept_as_it_was_typed_also_when_it_is_sent_again(
    assignment: Assignment, clock: time_machine.Traveller
) -> None:
    clock.shift(5)
    for _ in range(2):
        assert save_draft(assignment=assignment, draft=DRAFT, version=0, active_seconds=4) == 1
        stored = Assignment.objects.get()
        assert (stored.draft, stored.draft_version, stored.active_seconds) == (DRAFT, 1, 4)
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


def test_no_more_active_time_counts_than_has_passed(assignment: Assignment, clock: time_machine.Traveller) -> None:
    counted = []
    for passed, seconds in ((30, 20), (10, 20), (0, 20), (0, -5)):
        clock.shift(passed)
        save_draft(assignment=assignment, draft=DRAFT, version=0, active_seconds=seconds)
        counted.append(Assignment.objects.get().active_seconds)
    assert counted == [20, 30, 30, 30]


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


def test_what_could_not_be_locked_goes_over_the_draft_and_makes_older_tabs_stale(assignment: Assignment) -> None:
    save_draft(assignment=assignment, draft=DRAFT, version=0)
    for _ in range(2):
        keep(assignment, {"label": "LI", "note": "final words"})
    stored = Assignment.objects.get()
    assert (stored.draft, stored.draft_version) == ({**DRAFT, "label": "LI", "note": "final words"}, 2)
