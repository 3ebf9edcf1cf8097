"""What the lower rooms' news does to reviews."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from evaluator.models import Judgement, TestRun
from evaluator.queue.reconcile import reconcile
from evaluator.signals import implementation_rated, submission_reevaluated, submission_scored
from reviews.enums import AssignmentState, CaseState
from reviews.models import Case
from submissions.domain.publishing import hide, publish, unhide, withdraw
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import JudgeFactory
from tests.reviews.factories import ReviewerFactory, assigned, case_of, reviewed
from tests.reviews.rating import rated, shares
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from submissions.models import Implementation

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_is_audited(settings: Any) -> Iterator[None]:
    """Only contradictions open cases, and no earlier sweep is remembered."""
    cache.clear()
    shares(settings, audit=0)
    yield
    cache.clear()


@pytest.fixture
def contradiction() -> Implementation:
    """An answer that passed and that the judge calls wrong; it has no case yet."""
    return rated(JudgeFactory(), "passed", "LI")


def states() -> list[str]:
    return list(Case.objects.order_by("pk").values_list("state", flat=True))


def test_a_verdict_opens_a_case(contradiction: Implementation, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        implementation_rated.send(sender=Judgement, implementation=contradiction)
        assert states() == []
    assert states() == ["queued"]


@pytest.mark.parametrize("signal", [submission_scored, submission_reevaluated])
def test_a_measurement_opens_cases(
    contradiction: Implementation, signal: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        signal.send(sender=Submission, submission=contradiction.submission)
    assert states() == ["queued"]


def test_a_new_outcome_adds_to_an_open_case_and_throws_no_label_away(
    contradiction: Implementation, django_capture_on_commit_callbacks: Any
) -> None:
    other = rated(JudgeFactory(), "raised", "CC")
    unlabelled, labelled = case_of(other, severity=10), case_of(contradiction, state=CaseState.ONE_LABEL)
    reviewed(labelled, ReviewerFactory(), "LI")
    old = TestRun.objects.get(implementation=other)
    TestRunFactory(implementation=other, done="wrong_output", seed_epoch=2, supersedes=old)
    with django_capture_on_commit_callbacks(execute=True):
        for answer in (other, contradiction):
            submission_reevaluated.send(sender=Submission, submission=answer.submission)
    assert (states(), labelled.reviews.count()) == (["queued", "one_label"], 1)
    assert [trigger.kind for trigger in unlabelled.triggers.all()] == ["tests_oppose"]


def test_publishing_opens_cases(contradiction: Implementation, django_capture_on_commit_callbacks: Any) -> None:
    Submission.objects.update(visibility=Visibility.PRIVATE)
    submission = Submission.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        implementation_rated.send(sender=Judgement, implementation=contradiction)
    assert states() == []
    with django_capture_on_commit_callbacks(execute=True):
        publish(submission=submission, actor=submission.owner, code_licence="MIT", consent=True)
    assert states() == ["queued"]


@pytest.mark.parametrize("taken_away", ["withdrawn", "hidden"])
def test_taking_away_ends_open_cases_and_their_leases(
    contradiction: Implementation, taken_away: str, django_capture_on_commit_callbacks: Any
) -> None:
    submission = contradiction.submission
    case = case_of(contradiction, state=CaseState.LEASED)
    held = assigned(case, ReviewerFactory(), draft={"note": "so far"})
    elsewhere = case_of()
    with django_capture_on_commit_callbacks(execute=True):
        if taken_away == "withdrawn":
            withdraw(submission=submission, actor=submission.owner, reason="Wrong bundle.")
        else:
            hide(submission=submission, actor=UserFactory(is_staff=True), reason="Not theirs.")
    held.refresh_from_db()
    assert (states(), elsewhere.state) == (["void", "queued"], "queued")
    assert (held.state, held.lease_until, held.draft) == ("returned", None, {"note": "so far"})
    assert case.events.get().what == "its submission is not public any more"


def test_withdrawing_for_a_moment_gets_nobody_rid_of_a_review(
    contradiction: Implementation, django_capture_on_commit_callbacks: Any
) -> None:
    submission = contradiction.submission
    case = case_of(contradiction, state=CaseState.ONE_LABEL)
    reviewed(case, ReviewerFactory(), "LI")
    repeat = case_of(contradiction, kind="repeat", reserved_for=ReviewerFactory())
    with django_capture_on_commit_callbacks(execute=True):
        withdraw(submission=submission, actor=submission.owner, reason="Wrong bundle.")
    assert states() == ["void", "void"]
    with django_capture_on_commit_callbacks(execute=True):
        publish(submission=submission, actor=submission.owner, code_licence="MIT", consent=True)
    case.refresh_from_db()
    repeat.refresh_from_db()
    assert (case.state, repeat.state, Case.objects.count()) == ("one_label", "queued", 2)


def test_a_sample_that_is_hidden_for_a_moment_is_reviewed_again(
    contradiction: Implementation, django_capture_on_commit_callbacks: Any
) -> None:
    Submission.objects.update(visibility=Visibility.PRIVATE)
    submission, maintainer = Submission.objects.get(), UserFactory(is_staff=True)
    case_of(contradiction, state=CaseState.VOID)
    case = case_of(contradiction, round=2, state=CaseState.ONE_LABEL)
    reviewed(case, ReviewerFactory(), "LI")
    case_of(state=CaseState.VOID)
    with django_capture_on_commit_callbacks(execute=True):
        publish(submission=submission, actor=submission.owner, code_licence="MIT", consent=True)
    Submission.objects.filter(pk=submission.pk).update(kind=Kind.CALIBRATION)
    with django_capture_on_commit_callbacks(execute=True):
        hide(submission=submission, actor=maintainer, reason="Looked at.")
    assert states() == ["void", "void", "void"]
    with django_capture_on_commit_callbacks(execute=True):
        unhide(submission=submission, actor=maintainer, reason="It is fine.")
    assert states() == ["void", "one_label", "void"]


def test_the_sweep_ends_late_leases_and_finds_lost_news(contradiction: Implementation) -> None:
    case = case_of(state=CaseState.LEASED)
    late = assigned(case, ReviewerFactory(), lease_until=timezone.now() - timedelta(seconds=1))
    reconcile()
    late.refresh_from_db()
    case.refresh_from_db()
    assert (late.state, case.state) == (AssignmentState.EXPIRED, "queued")
    assert Case.objects.filter(implementation=contradiction, state=CaseState.QUEUED).count() == 1
