"""Drafts and labels: stored unchanged, locked once and completely, and not lost with a lease."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from django.utils import timezone

from reviews.annotators.readiness import MissingStepError
from reviews.cases import holding
from reviews.enums import AssignmentState, CaseKind, CaseState, FinalSource, Role
from reviews.exceptions import IncompleteError, LeaseLostError, StaleDraftError
from reviews.labelling import drafts, locking
from reviews.labelling.drafts import keep, save_draft
from reviews.models import Assignment, Case, CaseEvent, GuidelineReading, Review
from tests.reviews.factories import FINDING, assigned, case_of, claimed, expired, guideline, labelled, ready, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    """A clock that only the test advances."""
    with time_machine.travel(datetime(2026, 5, 4, 9, 0, tzinfo=UTC), tick=False) as traveller:
        yield traveller


@pytest.fixture
def assignment(clock: time_machine.Traveller, annotator: Reviewer) -> Assignment:
    """An assignment that was just claimed."""
    return assigned(case_of(), annotator)


def test_a_draft_is_stored_unchanged_and_may_be_sent_again(
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


def test_at_most_the_elapsed_time_counts_as_active(assignment: Assignment, clock: time_machine.Traveller) -> None:
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


def test_an_adjudicators_decision_is_saved_as_a_draft(adjudicator: Reviewer) -> None:
    """The explanation of a decision is saved as a draft although the blind label is locked."""
    at_evidence = labelled(case_of(), adjudicator, "CC", role=Role.ADJUDICATOR)
    assert save_draft(assignment=at_evidence, draft={"note": "Equation 3."}, version=0) == 1
    assert (Assignment.objects.get().draft, at_evidence.state) == ({"note": "Equation 3."}, AssignmentState.EVIDENCE)


def test_a_locked_label_accepts_no_draft(annotator: Reviewer) -> None:
    locked = labelled(case_of(), annotator, "CC")
    with pytest.raises(LeaseLostError, match="locked"):
        save_draft(assignment=locked, draft=DRAFT, version=0)
    keep(locked, {"note": "later"})
    assert Assignment.objects.get().draft == {}


def test_a_label_that_could_not_be_locked_replaces_the_draft(assignment: Assignment) -> None:
    save_draft(assignment=assignment, draft=DRAFT, version=0)
    for _ in range(2):
        keep(assignment, {"label": "LI", "note": "final words"})
    stored = Assignment.objects.get()
    assert (stored.draft, stored.draft_version) == ({**DRAFT, "label": "LI", "note": "final words"}, 2)


# The candidate of a factory's answer has two lines.
GIVEN: dict[str, Any] = {"label": "LI", "confidence": 2, "findings": [FINDING], "note": "Off by one."}


def lock(assignment: Assignment, label: str = "LI", **given: Any) -> Review:
    """Lock a complete label."""
    return locking.lock(assignment=assignment, **{**GIVEN, "label": label, **given})


@pytest.fixture
def mine(annotator: Reviewer) -> Assignment:
    """The annotator's claimed case."""
    case_of()
    return claimed(annotator)


def test_a_label_is_locked_with_findings_and_note(mine: Assignment, annotator: Reviewer) -> None:
    Assignment.objects.update(active_seconds=60, created=timezone.now() - timedelta(minutes=2))
    review = lock(mine, active_seconds=30)
    stored = Review.objects.get()
    assert (stored, stored.case, stored.assignment) == (review, mine.case, mine)
    assert (stored.reviewer, stored.role) == (annotator, "annotator")
    assert (stored.label, stored.confidence, stored.findings, stored.note) == ("LI", 2, [FINDING], "Off by one.")
    assert (stored.guideline.number, stored.active_seconds) == (1, 90)
    assert (mine.state, mine.lease_until, mine.active_seconds) == (AssignmentState.DONE, None, 90)
    assert Case.objects.get().state == CaseState.ONE_LABEL
    last = list(CaseEvent.objects.values_list("after", "what", "reviewer"))[-1]
    assert last == ("one_label", "label locked", annotator.pk)


def test_two_labels_close_the_case_and_blank_findings_are_dropped(mine: Assignment, other_annotator: Reviewer) -> None:
    second = claimed(other_annotator)
    lock(mine)
    blank = {"side": "candidate", "start": "", "end": "", "text": " ", "error_class": ""}
    lock(second, findings=[blank, {**FINDING, "start": "2", "end": ""}, blank])
    case = Case.objects.get()
    assert (case.state, case.label, case.source) == (CaseState.AGREED, "LI", FinalSource.AGREED)
    assert Review.objects.get(reviewer=other_annotator).findings == [{**FINDING, "start": 2, "end": 2}]


def test_a_completely_correct_answer_needs_no_finding(mine: Assignment) -> None:
    assert lock(mine, "CC", findings=[], note="").findings == []


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"label": "", "confidence": None}, {"label", "confidence"}),
        ({"confidence": 4}, {"confidence"}),
        ({"findings": []}, {"findings"}),
        ({"findings": [FINDING, {**FINDING, "end": 3}]}, {"finding-1"}),
        ({"findings": [{**FINDING, "start": 2, "end": 1}]}, {"finding-0"}),
        ({"findings": [{**FINDING, "start": 0}]}, {"finding-0"}),
        ({"findings": [{**FINDING, "start": "", "end": ""}]}, {"finding-0"}),
        ({"findings": [{**FINDING, "start": "one"}]}, {"finding-0"}),
        ({"findings": [{**FINDING, "side": ""}]}, {"finding-0"}),
        ({"findings": [{**FINDING, "text": " ", "error_class": ""}]}, {"finding-0"}),
        # The golden function of a factory's task is not in the content store.
        ({"findings": [{**FINDING, "side": "golden"}]}, {"finding-0"}),
        ({"label": "CC", "findings": [{**FINDING, "end": 3}]}, {"finding-0"}),
    ],
)
def test_an_incomplete_label_is_refused_by_field(mine: Assignment, given: dict[str, Any], fields: set[str]) -> None:
    with pytest.raises(IncompleteError) as caught:
        locking.lock(assignment=mine, **{**GIVEN, **given})
    assert set(caught.value.errors) == fields
    assert (Review.objects.exists(), Assignment.objects.get().state) == (False, AssignmentState.ACTIVE)


def test_a_repeated_lock_is_one_label_and_a_different_one_refused(mine: Assignment) -> None:
    first = lock(mine)
    assert lock(mine) == first
    with pytest.raises(LeaseLostError, match="locked as LI"):
        lock(mine, "CC")
    assert (Review.objects.get().label, Case.objects.get().state) == ("LI", CaseState.ONE_LABEL)


def test_a_late_label_is_accepted_while_there_is_a_place(mine: Assignment) -> None:
    lock(expired(mine))
    assert (mine.state, Case.objects.get().state) == (AssignmentState.DONE, CaseState.ONE_LABEL)


def test_a_late_label_without_a_place_stays_a_draft(annotator: Reviewer) -> None:
    case_of(labels_wanted=1)
    assignment = claimed(annotator)
    drafts.save_draft(assignment=assignment, draft={"note": "old", "paper_page": 4}, version=0)
    expired(assignment)
    claimed(ready())
    with pytest.raises(LeaseLostError, match="kept as a draft"):
        lock(assignment)
    stored = Assignment.objects.get(reviewer=annotator)
    assert (stored.state, stored.draft) == (AssignmentState.EXPIRED, {**GIVEN, "paper_page": 4})
    assert not Review.objects.exists()


def test_a_skipped_item_accepts_no_label(mine: Assignment) -> None:
    holding.skip(mine, reason="I know the authors well.")
    with pytest.raises(LeaseLostError, match="skipped"):
        lock(mine)
    assert not Review.objects.exists()


@pytest.mark.parametrize("state", [CaseState.VOID, CaseState.DISPUTED, CaseState.FINAL])
def test_a_case_closed_meanwhile_accepts_no_label(mine: Assignment, state: CaseState) -> None:
    Case.objects.update(state=state)
    with pytest.raises(LeaseLostError, match="kept as a draft"):
        lock(mine)
    assert Assignment.objects.get().draft["note"] == "Off by one."


def test_new_guidelines_must_be_read_first_and_the_draft_is_kept(mine: Assignment) -> None:
    revision = guideline(2, text="# Labels\n\nLook twice.\n")
    with pytest.raises(MissingStepError, match=r"revision 2.*kept as a draft") as caught:
        lock(mine)
    assert ("since=1" in caught.value.address, Assignment.objects.get().draft) == (True, GIVEN)
    GuidelineReading.objects.create(reviewer=mine.reviewer, revision=revision)
    assert lock(mine).guideline == revision


def test_an_adjudicator_continues_to_the_evidence(adjudicator: Reviewer) -> None:
    case_of(state=CaseState.DISPUTED)
    assignment = claimed(adjudicator, Role.ADJUDICATOR)
    drafts.save_draft(assignment=assignment, draft={"note": "blind", "view": {"diff": "unified"}}, version=0)
    review = lock(assignment)
    stored = Assignment.objects.get()
    assert (stored.state, stored.draft, stored.draft_version) == ("evidence", {"view": {"diff": "unified"}}, 2)
    assert stored.lease_until > timezone.now() + timedelta(minutes=29)
    assert (review.role, Case.objects.get().state) == (Role.ADJUDICATOR, CaseState.ADJUDICATING)
    assert lock(assignment) == review


def test_an_adjudicators_late_label_reclaims_the_case_if_free(adjudicator: Reviewer) -> None:
    case_of(state=CaseState.DISPUTED)
    assignment = expired(claimed(adjudicator, Role.ADJUDICATOR))
    rival = claimed(ready(annotator=False, adjudicator=True), Role.ADJUDICATOR)
    with pytest.raises(LeaseLostError, match="other annotators have it"):
        lock(assignment)
    holding.hand_back(rival)
    lock(assignment)
    assert (assignment.state, Case.objects.get().state) == (AssignmentState.EVIDENCE, CaseState.ADJUDICATING)
    holding.extend(assignment)


def test_practice_may_be_labelled_by_all_and_changes_no_state(annotator: Reviewer, other_annotator: Reviewer) -> None:
    case = case_of(kind=CaseKind.PRACTICE, known_label="LI")
    for reviewer in (annotator, other_annotator):
        lock(assigned(case, reviewer))
    case.refresh_from_db()
    assert (case.state, case.label, Review.objects.count()) == (CaseState.QUEUED, "", 2)
    assert set(Assignment.objects.values_list("state", flat=True)) == {AssignmentState.DONE}


def test_every_label_of_a_review_may_be_drawn_to_be_repeated(
    mine: Assignment, annotator: Reviewer, settings: Any, committing: Callable[[], Any]
) -> None:
    shares(settings, repeat=1.0)
    with committing():
        lock(mine)
    repeat = Case.objects.get(kind=CaseKind.REPEAT)
    assert (repeat.implementation, repeat.reserved_for) == (mine.case.implementation, annotator)
    Case.objects.filter(pk=repeat.pk).update(created=timezone.now() - timedelta(days=8))
    assignment = claimed(annotator)
    assert assignment.case == repeat
    with committing():
        lock(assignment)
    repeat.refresh_from_db()
    assert (repeat.state, repeat.label, Case.objects.count()) == (CaseState.AGREED, "", 2)
