"""Locking labels: whole, once, for good; late ones count as long as there is a place for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from reviews.enums import AssignmentState, CaseKind, CaseState, FinalSource, Role
from reviews.exceptions import LabelError, LeaseLostError
from reviews.labelling import claiming, drafts, holding, locking
from reviews.models import Assignment, Case, CaseEvent, GuidelineReading, Review
from reviews.people.readiness import MissingStepError
from tests.reviews.factories import FINDING, assigned, case_of, guideline, ready

if TYPE_CHECKING:
    from pytest_django import DjangoCaptureOnCommitCallbacks

    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db

# The candidate of a factory's answer has two lines.
GIVEN: dict[str, Any] = {"label": "LI", "confidence": 2, "findings": [FINDING], "note": "Off by one."}


def claimed(reviewer: Reviewer, role: Role = Role.ANNOTATOR) -> Assignment:
    """What is claimed, when something is."""
    assignment = claiming.claim(reviewer=reviewer, role=role)
    assert assignment is not None
    return assignment


def lock(assignment: Assignment, label: str = "LI", **given: Any) -> Review:
    """Lock a label with everything that it needs."""
    return locking.lock(assignment=assignment, **{**GIVEN, "label": label, **given})


def expired(assignment: Assignment) -> None:
    """Its lease has run out, and the case was given back."""
    Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert holding.expire() == 1


def test_a_label_is_locked_with_all_that_explains_it(annotator: Reviewer) -> None:
    case = case_of()
    assignment = claimed(annotator)
    Assignment.objects.update(active_seconds=60, created=timezone.now() - timedelta(minutes=2))
    review = lock(assignment, active_seconds=30)
    stored = Review.objects.get()
    assert stored == review
    assert (stored.case, stored.assignment, stored.reviewer, stored.role) == (case, assignment, annotator, "annotator")
    assert (stored.label, stored.confidence, stored.findings, stored.note) == ("LI", 2, [FINDING], "Off by one.")
    assert (stored.guideline.number, stored.active_seconds) == (1, 90)
    assert (assignment.state, assignment.lease_until, assignment.active_seconds) == (AssignmentState.DONE, None, 90)
    assert Case.objects.get().state == CaseState.ONE_LABEL
    assert list(CaseEvent.objects.values_list("after", "what", "reviewer"))[-1] == (
        "one_label",
        "label locked",
        annotator.pk,
    )


def test_two_labels_settle_the_case(annotator: Reviewer, other_annotator: Reviewer) -> None:
    case_of()
    first, second = claimed(annotator), claimed(other_annotator)
    lock(first)
    lock(second, findings=[{**FINDING, "start": "2", "end": ""}])
    case = Case.objects.get()
    assert (case.state, case.label, case.source) == (CaseState.AGREED, "LI", FinalSource.AGREED)
    assert Review.objects.get(reviewer=other_annotator).findings == [{**FINDING, "start": 2, "end": 2}]


def test_a_completely_correct_answer_needs_no_finding(annotator: Reviewer) -> None:
    case_of()
    assert lock(claimed(annotator), "CC", findings=[], note="").findings == []


def test_findings_in_which_nothing_was_typed_are_dropped(annotator: Reviewer) -> None:
    case_of()
    blank = {"side": "candidate", "start": "", "end": "", "text": " ", "error_class": ""}
    assert lock(claimed(annotator), "LC", findings=[blank, FINDING, blank]).findings == [FINDING]


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"label": ""}, {"label"}),
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
def test_an_incomplete_label_is_refused_by_field(annotator: Reviewer, given: dict[str, Any], fields: set[str]) -> None:
    case_of()
    assignment = claimed(annotator)
    with pytest.raises(LabelError) as caught:
        locking.lock(assignment=assignment, **{**GIVEN, **given})
    assert set(caught.value.errors) == fields
    assert not Review.objects.exists()
    assert Assignment.objects.get().state == AssignmentState.ACTIVE


def test_the_same_lock_twice_is_one_label_and_another_one_is_refused(annotator: Reviewer) -> None:
    case_of()
    assignment = claimed(annotator)
    first = lock(assignment)
    assert lock(assignment) == first
    with pytest.raises(LeaseLostError, match="locked as LI"):
        lock(assignment, "CC")
    assert Review.objects.get().label == "LI"
    assert Case.objects.get().state == CaseState.ONE_LABEL


def test_a_late_label_is_taken_while_there_is_a_place(annotator: Reviewer) -> None:
    case_of()
    assignment = claimed(annotator)
    expired(assignment)
    lock(assignment)
    assert (assignment.state, Case.objects.get().state) == (AssignmentState.DONE, CaseState.ONE_LABEL)


def test_a_late_label_without_a_place_stays_a_draft(annotator: Reviewer) -> None:
    case_of(labels_wanted=1)
    assignment = claimed(annotator)
    drafts.save_draft(assignment=assignment, draft={"note": "old", "paper_page": 4}, version=0)
    expired(assignment)
    claimed(ready())
    with pytest.raises(LeaseLostError, match="kept as a draft"):
        lock(assignment)
    assert not Review.objects.exists()
    stored = Assignment.objects.get(reviewer=annotator)
    assert (stored.state, stored.draft) == (AssignmentState.EXPIRED, {**GIVEN, "paper_page": 4})


def test_what_was_skipped_takes_no_label(annotator: Reviewer) -> None:
    case_of()
    assignment = claimed(annotator)
    holding.skip(assignment, reason="I know the authors well.")
    with pytest.raises(LeaseLostError, match="skipped"):
        lock(assignment)
    assert not Review.objects.exists()


@pytest.mark.parametrize("state", [CaseState.VOID, CaseState.DISPUTED, CaseState.FINAL])
def test_a_case_that_was_closed_meanwhile_takes_no_label(annotator: Reviewer, state: CaseState) -> None:
    case_of()
    assignment = claimed(annotator)
    Case.objects.update(state=state)
    with pytest.raises(LeaseLostError, match="kept as a draft"):
        lock(assignment)
    assert Assignment.objects.get().draft["note"] == "Off by one."


def test_new_guidelines_are_read_before_the_label_is_locked_and_nothing_is_lost(annotator: Reviewer) -> None:
    case_of()
    assignment = claimed(annotator)
    revision = guideline(2, text="# Labels\n\nLook twice.\n")
    with pytest.raises(MissingStepError, match=r"revision 2.*kept as a draft") as caught:
        lock(assignment)
    assert "since=1" in caught.value.address
    assert Assignment.objects.get().draft == GIVEN
    GuidelineReading.objects.create(reviewer=annotator, revision=revision)
    assert lock(assignment).guideline == revision


def test_an_adjudicator_goes_on_to_the_evidence(adjudicator: Reviewer) -> None:
    case_of(state=CaseState.DISPUTED)
    assignment = claimed(adjudicator, Role.ADJUDICATOR)
    drafts.save_draft(assignment=assignment, draft={"note": "blind", "view": {"diff": "unified"}}, version=0)
    review = lock(assignment)
    assert review.role == Role.ADJUDICATOR
    stored = Assignment.objects.get()
    assert (stored.state, stored.draft, stored.draft_version) == ("evidence", {"view": {"diff": "unified"}}, 2)
    assert stored.lease_until > timezone.now() + timedelta(minutes=29)
    assert Case.objects.get().state == CaseState.ADJUDICATING
    assert lock(assignment) == review


def test_an_adjudicators_late_label_takes_the_case_back_unless_another_has_it(adjudicator: Reviewer) -> None:
    case_of(state=CaseState.DISPUTED)
    assignment = claimed(adjudicator, Role.ADJUDICATOR)
    expired(assignment)
    rival = claimed(ready(annotator=False, adjudicator=True), Role.ADJUDICATOR)
    with pytest.raises(LeaseLostError, match="others have it"):
        lock(assignment)
    holding.hand_back(rival)
    lock(assignment)
    assert (assignment.state, Case.objects.get().state) == (AssignmentState.EVIDENCE, CaseState.ADJUDICATING)
    holding.extend(assignment)


def test_practice_is_labelled_by_anybody_and_changes_no_state(annotator: Reviewer, other_annotator: Reviewer) -> None:
    case = case_of(kind=CaseKind.PRACTICE, known_label="LI")
    for reviewer in (annotator, other_annotator, ready()):
        lock(assigned(case, reviewer))
    case.refresh_from_db()
    assert (case.state, case.label, Review.objects.count()) == (CaseState.QUEUED, "", 3)
    assert set(Assignment.objects.values_list("state", flat=True)) == {AssignmentState.DONE}


def test_every_label_of_a_review_may_be_drawn_to_be_repeated(
    annotator: Reviewer, settings: Any, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, review_repeat_share=1.0)
    case = case_of()
    with django_capture_on_commit_callbacks(execute=True):
        lock(claimed(annotator))
    repeat = Case.objects.get(kind=CaseKind.REPEAT)
    assert (repeat.implementation, repeat.reserved_for) == (case.implementation, annotator)
    Case.objects.filter(pk=repeat.pk).update(created=timezone.now() - timedelta(days=8))
    assignment = claimed(annotator)
    assert assignment.case == repeat
    with django_capture_on_commit_callbacks(execute=True):
        lock(assignment)
    repeat.refresh_from_db()
    assert (repeat.state, repeat.label) == (CaseState.AGREED, "")
    assert Case.objects.count() == 2
