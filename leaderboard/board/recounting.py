"""Find board rows that are older than what they count, and bring them up to date: in the sweep, and in a worker."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.core.cache import cache
from django.db.models import F
from django.utils import timezone

from benchmark_tasks.domain.left_out import tasks_left_out
from benchmark_tasks.domain.queries import revisions_of
from benchmark_tasks.models import SuiteVersion
from evaluator.enums import WorkState
from evaluator.models import Judgement, ShownJudge
from leaderboard.board.entries import recompute_submission
from leaderboard.board.human_labels import reviewed_since
from leaderboard.board.judge_labels import push_recount, recount_labels
from leaderboard.models import Entry
from submissions.enums import SubmissionState
from submissions.models import Submission

if TYPE_CHECKING:
    from datetime import datetime

BATCH: Final = 100
"""So many rows of another judge are counted in one sweep, which has other things to do; a worker counts the rest."""

_CAUGHT_UP: Final = "board-rows-caught-up"
_IN_FLIGHT: Final = timedelta(minutes=10)
"""How long before its commit a transaction may have noted its time."""


def catch_up() -> int:
    """Bring the rows up to date whose news was lost, when a process was killed between storing and telling it.

    Looks at what was stored since this last ran, or at everything where that is not known; returns how many rows.
    """
    started, until = timezone.now(), cache.get(_CAUGHT_UP)
    since = until - _IN_FLIGHT if until else None
    recomputed = {*_without_row(since), *_with_other_tasks()}
    done = sum(recompute_submission(pk) is not None for pk in recomputed)
    done += sum(recount_labels(pk) for pk in {*_judged_since(since), *reviewed_since(since)} - recomputed)
    done += recount_batch()
    if _of_another_judge():
        push_recount()
    cache.set(_CAUGHT_UP, started, timeout=None)
    return done


def recount_batch() -> int:
    """Count the labels of some rows whose suite shows another judge since they were counted; return how many."""
    return sum(recount_labels(pk) for pk in _of_another_judge())


def _without_row(since: datetime | None) -> list[int]:
    scored = Submission.objects.filter(state=SubmissionState.SCORED, entry__isnull=True)
    if since is not None:
        scored = scored.filter(scored_at__gt=since)
    return list(scored.values_list("pk", flat=True))


def _with_other_tasks() -> list[int]:
    """Rows that leave out other tasks than their suite version does now. One query for each version."""
    found: list[int] = []
    for version in SuiteVersion.objects.filter(pk__in=Entry.objects.order_by().values("suite_version")):
        left_out = tasks_left_out(revisions_of(version))
        rows = version.entries.filter(submission__state=SubmissionState.SCORED).exclude(left_out=left_out)
        found += rows.values_list("submission__pk", flat=True)
    return found


def _judged_since(since: datetime | None) -> list[int]:
    """Submissions with a verdict of the shown judge that is newer than their row."""
    answer = "implementation__submission"
    verdicts = Judgement.objects.filter(
        state=WorkState.DONE,
        config=F(f"{answer}__suite_version__suite__shown_judge__config"),
        finished__gt=F(f"{answer}__entry__computed"),
    )
    if since is not None:
        verdicts = verdicts.filter(finished__gt=since)
    return list(verdicts.order_by().values_list(answer, flat=True).distinct())


def _of_another_judge() -> list[int]:
    """Some submissions whose row was counted before their suite's board showed its judge."""
    found: list[int] = []
    # Were a clock ahead, a row that is counted now would be outdated still, and counted for ever.
    for shown in ShownJudge.objects.filter(changed__lte=timezone.now()):
        older = Entry.objects.filter(suite_version__suite=shown.suite_id, computed__lt=shown.changed)
        scored = older.filter(submission__state=SubmissionState.SCORED).order_by("computed")
        found += scored.values_list("submission__pk", flat=True)[: BATCH - len(found)]
    return found
