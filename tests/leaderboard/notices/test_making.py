"""Notices made of events: recipients and number."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluator.enums import WorkState
from evaluator.generation.generating import finish_generation, retry_held
from evaluator.models import Judgement, TestRun
from evaluator.signals import implementation_rated, reconciled
from evaluator.testing.finalising import finalise
from leaderboard.models import Notice
from leaderboard.notices import making
from reviews.cases import states
from reviews.cases.appeals import appeal
from reviews.cases.closing import close_if_labelled
from reviews.enums import CaseKind, CaseState, TriggerKind
from reviews.models import Case, Trigger
from submissions.domain.audit import record
from submissions.domain.publishing import hide, unhide
from submissions.enums import SubmissionState, Verb
from submissions.models import AuditEvent, Implementation, Submission
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.endpoint_runs import endpoint_run
from tests.leaderboard.judging import JudgeFactory, judged
from tests.reviews.factories import ReviewerFactory, answers, case_of, ready, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from submissions.models import User

    Commits = Callable[..., AbstractContextManager[object]]

pytestmark = pytest.mark.django_db
EVIDENCE = "Line 3 of the paper's algorithm 1 takes the mean, not the sum."


@pytest.fixture(autouse=True)
def _no_recent_check() -> None:
    cache.clear()


def recipients(kind: str) -> list[str]:
    """Recipients of the notices of this kind, in order."""
    return list(Notice.objects.filter(kind=kind).order_by("pk").values_list("recipient__username", flat=True))


def sent(owner: User, **facts: Any) -> Implementation:
    (made,) = answers(owner=owner, **facts)
    return made


class TestScored:
    def test_the_owner_gets_one_notice(
        self, alice: User, bob: User, django_capture_on_commit_callbacks: Commits, redis_url: str
    ) -> None:
        answer = sent(alice, state=SubmissionState.RUNNING, published=False)
        TestRunFactory(implementation=answer, done="passed")
        with django_capture_on_commit_callbacks(execute=True):
            finalise(answer.submission_id)
        assert recipients("scored") == ["alice"]
        making.note_scored(answer.submission)
        making.catch_up()
        assert recipients("scored") == ["alice"]

    @pytest.mark.both_databases
    def test_the_sweep_makes_notices_that_a_crash_lost_and_none_for_older_events(
        self, alice: User, redis_url: str
    ) -> None:
        for days in (1, 3):
            sent(alice, scored_at=timezone.now() - timedelta(days=days))
        reconciled.send_robust(sender=object)
        reconciled.send_robust(sender=object)
        assert recipients("scored") == ["alice"]


class TestHeld:
    def test_each_hold_makes_a_notice(self, alice: User, maintainer: User, redis_url: str) -> None:
        answer = sent(alice, state=SubmissionState.RUNNING, published=False)
        TestRunFactory(implementation=answer, state=WorkState.HELD, reason="no disk")
        finalise(answer.submission_id)
        making.catch_up()
        making.catch_up()
        assert recipients("held") == ["alice"]
        retry_held(submission=answer.submission, actor=maintainer)
        making.catch_up()
        TestRun.objects.update(state=WorkState.HELD)
        Submission.objects.update(state=SubmissionState.HELD)
        making.catch_up()
        making.catch_up()
        assert recipients("held") == ["alice", "alice"]
        record(verb=Verb.RESUMED, subject=answer.submission, actor=alice)
        making.catch_up()
        assert recipients("held") == ["alice"] * 3


class TestJudged:
    def test_the_notice_follows_the_last_verdict(
        self, alice: User, django_capture_on_commit_callbacks: Commits, redis_url: str
    ) -> None:
        answer = sent(alice)
        judged(answer, JudgeFactory(), "CC")
        late = judged(answer, JudgeFactory(), state=WorkState.QUEUED, finished=None, abstained=False)
        for state in (WorkState.QUEUED, WorkState.HELD, WorkState.DONE, WorkState.DONE):
            Judgement.objects.filter(pk=late.pk).update(state=state)
            with django_capture_on_commit_callbacks(execute=True):
                implementation_rated.send(sender=Implementation, implementation=answer)
            making.catch_up()
            assert recipients("judged") == (["alice"] if state == WorkState.DONE else [])

    def test_a_later_owner_gets_no_second_notice(self, alice: User, bob: User, redis_url: str) -> None:
        answer = sent(alice)
        judged(answer, JudgeFactory(), "CC")
        making.note_judged(answer.submission_id)
        Submission.objects.update(owner=bob)
        making.catch_up()
        assert recipients("judged") == ["alice"]

    def test_no_notice_without_score_or_judgement(self, alice: User, redis_url: str) -> None:
        judged(sent(alice, state=SubmissionState.RUNNING), JudgeFactory(), "CC")
        making.note_judged(sent(alice).submission_id)
        making.catch_up()
        assert recipients("judged") == []


class TestAppeal:
    def test_the_appellant_gets_a_notice_when_the_case_is_closed(
        self, alice: User, django_capture_on_commit_callbacks: Commits, redis_url: str
    ) -> None:
        answer = sent(alice)
        TestRunFactory(implementation=answer, done="passed")
        case = appeal(actor=alice, implementation=answer, evidence=EVIDENCE)
        making.note_appeal(case)
        making.catch_up()
        assert recipients("appeal") == []
        for _ in range(2):
            reviewed(case, ReviewerFactory(), "CC")
        with django_capture_on_commit_callbacks(execute=True):
            close_if_labelled(case)
        # The labels agree, but an appeal may still send them to an adjudicator, which leaves the case undecided.
        Case.objects.filter(pk=case.pk).update(state=CaseState.FINAL, closed=timezone.now())
        with django_capture_on_commit_callbacks(execute=True):
            states.announce(Case.objects.get(pk=case.pk))
        making.catch_up()
        assert recipients("appeal") == ["alice"]

    @pytest.mark.parametrize("state", [CaseState.DISPUTED, CaseState.VOID, CaseState.REOPENED])
    def test_no_notice_for_an_undecided_case(self, alice: User, redis_url: str, state: CaseState) -> None:
        answer = sent(alice)
        TestRunFactory(implementation=answer, done="passed")
        case = appeal(actor=alice, implementation=answer, evidence=EVIDENCE)
        Case.objects.filter(pk=case.pk).update(state=state, closed=timezone.now())
        making.note_appeal(case)
        making.catch_up()
        assert recipients("appeal") == []

    @pytest.mark.parametrize("missing", ["trigger", "appeal", "person", "review"])
    def test_only_a_user_s_appeal_on_a_review_makes_a_notice(self, alice: User, redis_url: str, missing: str) -> None:
        kind = CaseKind.PRACTICE if missing == "review" else CaseKind.REVIEW
        case = case_of(sent(alice), kind=kind, state=CaseState.FINAL, label="CC", closed=timezone.now())
        if missing != "trigger":
            why = TriggerKind.AUDIT if missing == "appeal" else TriggerKind.APPEAL
            Trigger.objects.create(case=case, kind=why, raised_by=None if missing == "person" else alice)
        making.note_appeal(case)
        making.catch_up()
        assert recipients("appeal") == []


class TestActs:
    def test_each_automatic_pause_and_each_hiding_makes_one_notice(
        self, alice: User, maintainer: User, redis_url: str
    ) -> None:
        submission = sent(alice).submission
        record(verb=Verb.PAUSED, subject=submission, actor=None, reason="The run reached its limit of 1 h.")
        hide(submission=submission, actor=maintainer, reason="Its code is another's.")
        unhide(submission=submission, actor=maintainer, reason="It is not.")
        for _ in range(2):
            making.catch_up()
        assert (recipients("paused"), recipients("hidden"), recipients("unhidden")) == (["alice"], ["alice"], ["alice"])
        made = Notice.objects.named().filter(kind__in=["hidden", "paused", "unhidden"]).order_by("kind")
        assert list(made.order_by("-made", "-pk").values_list("kind", flat=True)) == ["unhidden", "hidden", "paused"]
        how = "its page explains how to continue. The run reached its limit of 1 h."
        texts = [each.text for each in made]
        assert [text.removeprefix(str(submission)) for text in texts] == [
            " was hidden by a maintainer: its page gives the reason.",
            f"The run of {submission} has paused: its answers so far are kept; {how}",
            " is no longer hidden: a maintainer's reason is on its page.",
        ]
        record(verb=Verb.PAUSED, subject=submission, actor=None)
        making.catch_up()
        assert recipients("paused") == ["alice", "alice"]

    def test_a_held_run_makes_one_notice(self, alice: User, redis_url: str) -> None:
        run = endpoint_run(alice, WorkState.HELD)
        finish_generation(run.pk)
        making.catch_up()
        assert (recipients("held"), recipients("paused")) == (["alice"], [])

    def test_no_notice_of_the_owner_s_own_or_old_actions(self, alice: User, redis_url: str) -> None:
        submission = sent(alice).submission
        record(verb=Verb.PAUSED, subject=submission, actor=alice)
        old = record(verb=Verb.PAUSED, subject=submission, actor=None)
        with connection.cursor() as cursor:
            table, then = AuditEvent._meta.db_table, timezone.now() - timedelta(days=3)
            cursor.execute(f"UPDATE {table} SET created = %s WHERE id = %s", [then, old.pk])  # noqa: S608 - our own name
        making.catch_up()
        assert recipients("paused") == []


class TestReview:
    def later(self, **time: float) -> None:
        """Make the notices older by ``time``, and sweep again."""
        for each in Notice.objects.all():
            made = each.made - timedelta(**time)
            Notice.objects.filter(pk=each.pk).update(made=made, key=made.date().isoformat())
        cache.clear()
        making.catch_up()

    @pytest.mark.both_databases
    def test_at_most_one_unread_notice_and_one_a_day(self, alice: User, redis_url: str) -> None:
        reviewer = ready(user=alice)
        case_of(), case_of()
        self.later()
        self.later()
        assert recipients("review") == ["alice"]
        self.later(days=2)
        assert recipients("review") == ["alice"], "the first is unread"
        Notice.objects.update(read=timezone.now())
        self.later(days=2)
        assert recipients("review") == ["alice", "alice"]
        Notice.objects.update(read=timezone.now())
        self.later(hours=20)
        assert recipients("review") == ["alice", "alice"], "a day has not passed"
        assert reviewer.active

    def test_no_notice_without_work_role_or_completed_first_steps(self, alice: User, bob: User, redis_url: str) -> None:
        ready(user=alice)
        self.later()
        case_of()
        ReviewerFactory(user=bob)  # has not read the guidelines
        ready(active=False)
        ready(user=UserFactory(is_active=False))
        ready(annotator=False)
        self.later()
        assert recipients("review") == ["alice"]

    def test_a_notice_is_marked_as_read_when_no_work_is_left(self, alice: User, redis_url: str) -> None:
        ready(user=alice)
        case = case_of()
        self.later()
        Case.objects.filter(pk=case.pk).update(state=CaseState.FINAL)
        self.later()
        assert Notice.objects.get(kind="review").read is not None


@pytest.mark.both_databases
def test_old_notices_are_removed(alice: User, redis_url: str) -> None:
    submission = sent(alice).submission
    for days in (89, 91):
        made = timezone.now() - timedelta(days=days)
        Notice.objects.create(recipient=alice, kind="scored", key=str(days), submission=submission, made=made)
    making.catch_up()
    assert list(Notice.objects.values_list("key", flat=True)) == ["89"]


@pytest.mark.both_databases
def test_the_sweep_s_queries_do_not_grow(alice: User, redis_url: str) -> None:
    counts = []
    for _ in range(2):
        for _ in range(3):
            sent(alice, scored_at=timezone.now())
            sent(alice, state=SubmissionState.HELD)
        making.catch_up()
        with CaptureQueriesContext(connection) as queries:
            making.catch_up()
        counts.append(len(queries))
    assert counts[0] == counts[1]
