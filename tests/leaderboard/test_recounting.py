"""Board rows whose news was lost, and rows of another judge: found at a cost that follows what changed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluator.models import Judgement, ShownJudge
from leaderboard.board import labels
from leaderboard.board.entries import catch_up, recompute_submission
from leaderboard.models import Entry
from submissions.enums import SubmissionState
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.evaluator.factories import QueuedSubmissionFactory, runs_of
from tests.leaderboard.judging import JudgeFactory, judged, show

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows() -> list[Submission]:
    """Three board rows of a suite that shows a judge, all as old as they are true."""
    version, judge = SuiteVersionFactory(tasks=2), JudgeFactory()
    show(version.suite, judge)
    made: list[Submission] = []
    for _ in range(3):
        submission = QueuedSubmissionFactory(
            suite_version=version, state=SubmissionState.SCORED, scored_at=timezone.now()
        )
        runs_of(submission, "passed", "raised")
        for answer in submission.implementations.all():
            judged(answer, judge, "CC")
        recompute_submission(submission.pk)
        made.append(submission)
    return made


def sweep() -> tuple[int, int]:
    """How many rows a sweep brought up to date, with how many queries."""
    with CaptureQueriesContext(connection) as queries:
        return catch_up(), len(queries)


def made_older(hours: int) -> None:
    """As if everything had happened before."""
    ago = timedelta(hours=hours)
    for row in Judgement.objects.all():
        Judgement.objects.filter(pk=row.pk).update(finished=row.finished - ago)
    for shown in ShownJudge.objects.all():
        ShownJudge.objects.filter(pk=shown.pk).update(changed=shown.changed - ago)
    for entry in Entry.objects.all():
        Entry.objects.filter(pk=entry.pk).update(computed=entry.computed - ago)


@pytest.mark.parametrize("known", [False, True], ids=["first", "later"])
def test_a_sweep_asks_no_more_of_more_rows(rows: list[Submission], known: bool) -> None:
    if known:
        catch_up()
    else:
        cache.clear()
    every = sweep()
    Entry.objects.exclude(submission=rows[0]).delete()
    Submission.objects.exclude(pk=rows[0].pk).update(state=SubmissionState.CANCELLED)
    if not known:
        cache.clear()
    assert every == sweep() == (0, every[1])


def test_only_what_was_stored_since_the_last_sweep_is_looked_at(rows: list[Submission]) -> None:
    cache.clear()
    made_older(hours=2)
    assert catch_up() == 0
    # An hour after its row, which no sweep could have missed.
    one = Judgement.objects.filter(implementation__submission=rows[0])
    one.update(finished=timezone.now() - timedelta(hours=1))
    assert catch_up() == 0
    two = Judgement.objects.filter(implementation__submission=rows[1])
    two.update(finished=timezone.now() - timedelta(seconds=30))
    assert (catch_up(), catch_up()) == (1, 0)
    # Where nothing is known of an earlier sweep, everything is looked at.
    cache.clear()
    assert (catch_up(), catch_up()) == (1, 0)


def test_a_sweep_counts_some_rows_of_another_judge_and_the_next_one_the_rest(
    rows: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up()
    show(rows[0].suite_version.suite, JudgeFactory())
    monkeypatch.setattr(labels, "BATCH", 2)
    assert [catch_up(), catch_up(), catch_up()] == [2, 1, 0]


def test_a_clock_that_is_ahead_makes_no_endless_work(rows: list[Submission]) -> None:
    ShownJudge.objects.update(changed=timezone.now() + timedelta(minutes=5))
    assert catch_up() == 0
