"""Reviews that cannot go on, and those that do again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from evaluator.models import TestRun
from reviews.cases import voiding
from reviews.cases.triggers import consider
from reviews.enums import AssignmentState, CaseKind, CaseState
from reviews.models import Case, CaseEvent
from tests.evaluator.factories import TestRunFactory
from tests.reviews.factories import ReviewerFactory, assigned, case_of, rated, reviewed, shares

if TYPE_CHECKING:
    from evaluator.models import JudgeConfig

pytestmark = pytest.mark.django_db


def test_only_a_new_measurement_opens_the_next_round(settings: Any, judge: JudgeConfig) -> None:
    shares(settings, audit=0)
    answer = rated(judge, "passed", "LI")
    voiding.end(case_of(answer), what="the environment was broken")
    consider(answer)
    assert [case.state for case in Case.objects.all()] == ["void"]
    old = TestRun.objects.get()
    later = timezone.now() + timedelta(minutes=1)
    TestRunFactory(implementation=answer, done="passed", seed_epoch=2, supersedes=old, finished=later)
    case = consider(answer)
    assert case is not None
    assert (case.round, case.state, case.triggers.get().kind) == (2, "queued", "tests_oppose")


@pytest.mark.parametrize(("labels", "state"), [([], "queued"), (["LI"], "one_label"), (["LI", "CC"], "disputed")])
def test_what_was_withdrawn_for_a_moment_goes_on_where_it_was_left(
    settings: Any, judge: JudgeConfig, labels: list[str], state: str
) -> None:
    shares(settings, audit=0)
    answer = rated(judge, "passed", "LI")
    case = case_of(answer)
    for label in labels:
        reviewed(case, ReviewerFactory(), label)
    assert voiding.end_of_submission(answer.submission_id) == 1
    assert consider(answer) == case
    case.refresh_from_db()
    assert (case.state, case.round, case.reviews.count()) == (state, 1, len(labels))


def test_one_that_wanted_one_label_and_has_it_was_disputed() -> None:
    case = case_of(labels_wanted=1)
    reviewed(case, ReviewerFactory(), "LI")
    voiding.end(case, what="x")
    assert voiding.revive(case) is True
    assert (case.state, voiding.revive(case)) == ("disputed", False)


def test_a_change_in_between_does_not_save_a_case() -> None:
    case = case_of()
    Case.objects.update(state=CaseState.ONE_LABEL)
    assert voiding.end(case, what="x") is True
    assert Case.objects.get().state == CaseState.VOID


def test_leases_end_and_labels_stay() -> None:
    case = case_of(state=CaseState.ADJUDICATING)
    held = assigned(case, ReviewerFactory(), state=AssignmentState.EVIDENCE, draft={"note": "so far"})
    done = reviewed(case, ReviewerFactory(), "LC").assignment
    assert done is not None
    assert voiding.end(case, what="x" * 300) is True
    assert voiding.end(case, what="again") is False
    held.refresh_from_db()
    done.refresh_from_db()
    assert (held.state, held.lease_until, held.draft) == ("returned", None, {"note": "so far"})
    assert (done.state, case.reviews.count(), case.state) == ("done", 1, "void")
    assert CaseEvent.objects.get().what == "x" * 200


@pytest.mark.parametrize("kind", [CaseKind.REPEAT, CaseKind.PRACTICE])
def test_repeats_end_and_go_on_and_practice_is_left_alone(kind: CaseKind) -> None:
    case = case_of(kind=kind, reserved_for=ReviewerFactory())
    submission = case.implementation.submission_id
    repeats = kind == CaseKind.REPEAT
    assert voiding.end_of_submission(submission) == repeats
    case.refresh_from_db()
    assert case.state == (CaseState.VOID if repeats else CaseState.QUEUED)
    assert voiding.revive_asked_for(submission) == repeats
    case.refresh_from_db()
    assert case.state == CaseState.QUEUED


def test_a_repeat_that_a_maintainer_ended_stays_void() -> None:
    case = case_of(kind=CaseKind.REPEAT, reserved_for=ReviewerFactory())
    voiding.end(case, what="the environment was broken")
    assert voiding.revive_asked_for(case.implementation.submission_id) == 0


@pytest.mark.parametrize("state", [CaseState.AGREED, CaseState.FINAL, CaseState.REOPENED])
def test_what_is_closed_stays_when_its_submission_goes(state: CaseState) -> None:
    case = case_of(state=state, label="CC")
    assert voiding.end_of_submission(case.implementation.submission_id) == 0
    assert (Case.objects.get().state, Case.objects.get().label) == (state, "CC")
