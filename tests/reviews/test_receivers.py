"""Effects of other apps' signals on cases."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from evaluator.models import Judgement, TestRun
from evaluator.signals import implementation_rated, reconciled, submission_reevaluated, submission_scored
from reviews.enums import AssignmentState, CaseState
from reviews.models import Case
from submissions.domain.publishing import hide, publish, unhide, withdraw
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.evaluator.factories import TestRunFactory
from tests.reviews.factories import ReviewerFactory, assigned, case_of, rated, reviewed, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluator.models import JudgeConfig
    from submissions.models import Implementation, User

    Committing = Callable[[], Any]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_is_audited(settings: Any) -> Iterator[None]:
    """Let only contradictions open cases, and forget earlier sweeps."""
    cache.clear()
    shares(settings, audit=0)
    yield
    cache.clear()


@pytest.fixture
def contradiction(judge: JudgeConfig) -> Implementation:
    """An answer without a case that passed but that the judge labels LI."""
    return rated(judge, "passed", "LI")


def states() -> list[str]:
    return list(Case.objects.order_by("pk").values_list("state", flat=True))


def republish(submission: Submission) -> None:
    publish(submission=submission, actor=submission.owner, code_licence="MIT", consent=True)


def published_by_its_owner() -> Submission:
    """Return the only submission, published by its owner, so that unhiding can restore that."""
    Submission.objects.update(visibility=Visibility.PRIVATE)
    submission = Submission.objects.get()
    republish(submission)
    return submission


@pytest.mark.parametrize("news", ["rated", "scored", "reevaluated"])
def test_verdicts_and_evaluations_open_cases_after_commit(
    contradiction: Implementation, news: str, committing: Committing
) -> None:
    with committing():
        if news == "rated":
            implementation_rated.send(sender=Judgement, implementation=contradiction)
        else:
            signal = {"scored": submission_scored, "reevaluated": submission_reevaluated}[news]
            signal.send(sender=Submission, submission=contradiction.submission)
        assert states() == []
    assert states() == ["queued"]


def test_a_new_outcome_adds_a_trigger_and_keeps_labels(
    contradiction: Implementation, judge: JudgeConfig, committing: Committing
) -> None:
    other = rated(judge, "raised", "CC")
    unlabelled, labelled = case_of(other, severity=10), case_of(contradiction, state=CaseState.ONE_LABEL)
    reviewed(labelled, ReviewerFactory(), "LI")
    old = TestRun.objects.get(implementation=other)
    TestRunFactory(implementation=other, done="wrong_output", seed_epoch=2, supersedes=old)
    with committing():
        for answer in (other, contradiction):
            submission_reevaluated.send(sender=Submission, submission=answer.submission)
    assert (states(), labelled.reviews.count()) == (["queued", "one_label"], 1)
    assert [trigger.kind for trigger in unlabelled.triggers.all()] == ["tests_oppose"]


def test_publishing_opens_cases(contradiction: Implementation, committing: Committing) -> None:
    Submission.objects.update(visibility=Visibility.PRIVATE)
    submission = Submission.objects.get()
    with committing():
        implementation_rated.send(sender=Judgement, implementation=contradiction)
    assert states() == []
    with committing():
        republish(submission)
    assert states() == ["queued"]


@pytest.mark.parametrize("hidden", [False, True])
def test_withdrawing_voids_open_cases_until_published_again(
    contradiction: Implementation, maintainer: User, hidden: bool, committing: Committing
) -> None:
    submission = published_by_its_owner()
    case = case_of(contradiction, state=CaseState.ONE_LABEL)
    reviewed(case, ReviewerFactory(), "LI")
    held = assigned(case, ReviewerFactory(), draft={"note": "so far"})
    case_of(contradiction, kind="repeat", reserved_for=ReviewerFactory())
    case_of()
    with committing():
        if hidden:
            hide(submission=submission, actor=maintainer, reason="Not theirs.")
        else:
            withdraw(submission=submission, actor=submission.owner, reason="Wrong bundle.")
    held.refresh_from_db()
    assert states() == ["void", "void", "queued"]
    assert (held.state, held.lease_until, held.draft) == ("returned", None, {"note": "so far"})
    assert case.events.get().what == "its submission is not public any more"
    with committing():
        if hidden:
            unhide(submission=submission, actor=maintainer, reason="It is fine.")
        else:
            republish(submission)
    assert states() == ["one_label", "queued", "queued"]


def test_a_sample_hidden_for_a_moment_is_reviewed_again(
    contradiction: Implementation, maintainer: User, committing: Committing
) -> None:
    submission = published_by_its_owner()
    Submission.objects.filter(pk=submission.pk).update(kind=Kind.CALIBRATION)
    submission.refresh_from_db()
    case_of(contradiction, state=CaseState.VOID)
    reviewed(case_of(contradiction, round=2, state=CaseState.ONE_LABEL), ReviewerFactory(), "LI")
    case_of(state=CaseState.VOID)
    with committing():
        hide(submission=submission, actor=maintainer, reason="Looked at.")
    assert states() == ["void", "void", "void"]
    with committing():
        unhide(submission=submission, actor=maintainer, reason="It is fine.")
    assert states() == ["void", "one_label", "void"]


def test_the_sweep_ends_late_leases_and_finds_lost_signals(contradiction: Implementation) -> None:
    case = case_of(state=CaseState.LEASED)
    late = assigned(case, ReviewerFactory(), lease_until=timezone.now() - timedelta(seconds=1))
    reconciled.send(sender=None)
    late.refresh_from_db()
    case.refresh_from_db()
    assert (late.state, case.state) == (AssignmentState.EXPIRED, "queued")
    assert Case.objects.filter(implementation=contradiction, state=CaseState.QUEUED).count() == 1
