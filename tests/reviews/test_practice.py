"""The practice round: five answers with known labels, met in order by everybody."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from evaluator.models import TestRun
from evaluator.testing.evaluate import evaluate_next
from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.models import Case, Review
from reviews.people import practice
from reviews.people.practice import (
    ensure_practice,
    next_practice,
    practice_cases,
    progress,
    remaining,
)
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.evaluator.conftest import lmr_mini, real_sandbox  # noqa: F401 - fixtures
from tests.reviews.factories import ReviewerFactory, case_of, ready

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox
    from reviews.models import Assignment, Reviewer

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def without_a_queue(settings: Any) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues


def locked(assignment: Assignment, label: str) -> None:
    """As locking does it: the label is stored and the assignment is done; a practice case stays as it is."""
    Review.objects.create(
        case=assignment.case,
        assignment=assignment,
        reviewer=assignment.reviewer,
        role=Role.ANNOTATOR,
        label=label,
        confidence=2,
        guideline_id=assignment.reviewer.readings.get().revision_id,
        locked=timezone.now(),
    )
    assignment.state, assignment.lease_until = AssignmentState.DONE, None
    assignment.save()


def practice_of(labels: str) -> list[Case]:
    """Practice cases without a suite, with these known labels."""
    return [case_of(kind=CaseKind.PRACTICE, known_label=label, explanation="Because.") for label in labels.split()]


def test_the_shipped_items_are_submitted_once(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    assert ensure_practice() == 5
    assert ensure_practice() == 5
    submission = Submission.objects.get()
    assert (submission.kind, submission.visibility) == (Kind.CALIBRATION, Visibility.PRIVATE)
    assert submission.publish_when_scored is False
    assert submission.implementations.filter(attempted=True, answer_error={}).count() == 5
    cases = list(practice_cases())
    assert [case.known_label for case in cases] == ["CC", "CC", "LC", "LI", "LI"]
    assert [case.implementation.revision.task.slug for case in cases] == [
        *("rope/1", "selfconsistency/1", "simcse/1", "bertscore/1", "neuralcrf/1")
    ]
    assert not any(case.implementation.identical_to_reference for case in cases)
    assert all(case.explanation and "\n" not in case.explanation for case in cases)


def test_without_its_suite_there_is_no_practice() -> None:
    assert ensure_practice() == 0
    assert remaining(ReviewerFactory()) == 0


def test_changed_items_take_the_place_of_the_old_ones(
    lmr_mini: SuiteVersion,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    ensure_practice()
    before = list(practice_cases())
    changed = tmp_path / "items.toml"
    changed.write_text(practice.ITEMS.read_text(encoding="utf-8").replace("Completely correct,", "Right,"))
    monkeypatch.setattr(practice, "ITEMS", changed)
    practice.shipped_round.cache_clear()
    try:
        assert ensure_practice() == 5
    finally:
        practice.shipped_round.cache_clear()
    assert not set(practice_cases()) & set(before)
    assert set(Case.objects.filter(state=CaseState.VOID)) == set(before)
    assert Submission.objects.count() == 2


def test_items_are_met_in_order_and_by_everybody() -> None:
    cases = practice_of("CC LC LI")
    one, other = ready(), ready()
    first = next_practice(one)
    assert first is not None
    assert (first.case, first.role, first.state) == (cases[0], Role.ANNOTATOR, AssignmentState.ACTIVE)
    again = next_practice(one)
    assert again is not None
    assert (again.pk, again.token) == (first.pk, first.token)
    locked(first, "CC")
    second = next_practice(one)
    assert second is not None
    assert second.case == cases[1]
    assert (remaining(one), remaining(other)) == (2, 3)
    others = next_practice(other)
    assert others is not None
    assert others.case == cases[0]


def test_what_another_tab_has_just_locked_is_not_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = practice_of("CC LC")
    reviewer: Reviewer = ready()
    first = next_practice(reviewer)
    assert first is not None
    waiting = list(practice._not_labelled(reviewer))
    locked(first, "CC")
    monkeypatch.setattr(practice, "_not_labelled", lambda _: Case.objects.filter(pk__in=[case.pk for case in waiting]))
    second = next_practice(reviewer)
    assert second is not None
    assert second.case == cases[1]
    first.refresh_from_db()
    assert (first.state, first.lease_until) == (AssignmentState.DONE, None)


def test_the_round_ends_when_all_were_seen_right_or_not() -> None:
    practice_of("CC LC")
    reviewer: Reviewer = ready()
    for label in ("CC", "LI"):
        assignment = next_practice(reviewer)
        assert assignment is not None
        locked(assignment, label)
    assert next_practice(reviewer) is None
    assert remaining(reviewer) == 0
    assert progress(reviewer) == practice.Progress(done=2, right=1, total=2)


@pytest.mark.parametrize("state", [AssignmentState.EXPIRED, AssignmentState.RETURNED, AssignmentState.SKIPPED])
def test_an_item_given_up_is_taken_up_again_with_its_draft(state: AssignmentState) -> None:
    practice_of("CC")
    reviewer = ready()
    assignment = next_practice(reviewer)
    assert assignment is not None
    token = assignment.token
    assignment.state, assignment.draft, assignment.draft_version = state, {"note": "half"}, 3
    assignment.lease_until, assignment.ended = None, timezone.now()
    assignment.save()
    again = next_practice(reviewer)
    assert again is not None
    again.refresh_from_db()
    assert (again.pk, again.state, again.draft, again.draft_version) == (
        *(assignment.pk, AssignmentState.ACTIVE),
        *({"note": "half"}, 3),
    )
    assert again.token != token
    assert again.ended is None
    assert again.lease_until is not None
    assert timedelta(minutes=29) < again.lease_until - timezone.now() <= timedelta(minutes=30)


def test_void_items_are_not_practised() -> None:
    case, _ = practice_of("CC LC")
    Case.objects.filter(pk=case.pk).update(state=CaseState.VOID)
    assert remaining(ready()) == 1


def test_remaining_is_one_query(django_assert_num_queries: Any) -> None:
    practice_of("CC LC LI")
    reviewer = ready()
    with django_assert_num_queries(1):
        assert remaining(reviewer) == 3


@pytest.mark.django_db(transaction=True)
def test_the_tests_agree_with_the_known_labels(lmr_mini: SuiteVersion, real_sandbox: Sandbox) -> None:  # noqa: F811
    """What is called completely correct passes, private cases included, and nothing else does."""
    ensure_practice()
    while evaluate_next(submission_id=Submission.objects.get().pk):
        pass
    runs = TestRun.objects.filter(implementation__cases__isnull=False)
    outcomes = dict(runs.values_list("implementation__revision__task__slug", "outcome"))
    assert outcomes == {
        "rope/1": "passed",
        "selfconsistency/1": "passed",
        "simcse/1": "wrong_output",
        "bertscore/1": "wrong_output",
        "neuralcrf/1": "wrong_output",
    }
