"""Read the queue's state: waiting runs, workers and their sandboxes, and why runs are held."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.core.cache import cache
from django.db.models import Count, Max
from django.utils import timezone

from evaluator.enums import AttemptState, GenerationState, RunState, WorkState
from evaluator.models import AnswerRequest, Attempt, Judgement, TestRun
from evaluator.queue.listening import listening
from evaluator.queue.pushing import MODELS, RUNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from django.db.models import QuerySet

    from evaluator.models import Reevaluation
    from evaluator.models.runs import TestRunQuerySet

RECENT: Final = timedelta(hours=1)
STANDSTILL: Final = timedelta(minutes=3)
COUNTED_EVERY: Final = timedelta(minutes=5)
"""The number of runs that ended is as old as this, at most."""
_DONE: Final = "runs-done"
# Number of different infrastructure errors that are listed; more at once would not help to find the cause.
MOST_CAUSES: Final = 20
OPEN: Final = [WorkState.QUEUED, WorkState.RUNNING]


@dataclass(frozen=True, slots=True)
class InfraCause:
    """An infrastructure error, in full, that makes runs wait or be held now: for maintainers only."""

    reason: str
    runs: int
    newest: datetime
    submissions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class QueueState:
    """The state of the queue.

    ``registered`` is the number of running workers for evaluations, ``model_workers`` of those for requests to models;
    both are None if the queue's server does not answer. ``questions`` is the number of answers and verdicts that wait
    for a model.
    """

    queued: int
    running: int
    held: int
    done: int
    oldest_waiting: datetime | None
    registered: int | None
    model_workers: int | None
    questions: int
    questions_running: int
    seen: dict[str, tuple[int, datetime]]
    sandboxes: tuple[str, ...]
    sandbox_problem: str
    unconfined: bool
    exposed: bool

    @property
    def stalled(self) -> bool:
        """Whether a run has waited for too long although workers are running, and no run is under way."""
        waits = self.oldest_waiting is not None and timezone.now() - self.oldest_waiting > STANDSTILL
        return bool(self.registered) and waits and not self.running


def queue_state() -> QueueState:
    """Read the state from the database and the queue's server."""
    unfinished = TestRun.objects.filter(state__in=[*OPEN, RunState.HELD]).order_by()
    counts = Counter(dict(unfinished.values_list("state").annotate(number=Count("pk"))))
    waiting = TestRun.objects.filter(state=RunState.QUEUED).order_by("created").values_list("created", flat=True)
    workers = listening()
    questions = Counter(_questions())
    seen, sandboxes = _recent()
    return QueueState(
        queued=counts[RunState.QUEUED],
        running=counts[RunState.RUNNING],
        held=counts[RunState.HELD],
        done=_done(),
        oldest_waiting=waiting.first(),
        registered=None if workers is None else workers[RUNS],
        model_workers=None if workers is None else workers[MODELS],
        questions=questions[WorkState.QUEUED],
        questions_running=questions[WorkState.RUNNING],
        seen=seen,
        sandboxes=sandboxes,
        sandbox_problem=_sandbox_problem(),
        unconfined=settings.ENVIRONMENT.sandbox_allow_no_cgroups,
        exposed=settings.ENVIRONMENT.exposed,
    )


def _done() -> int:
    """Count the runs that ended, at most once in :data:`COUNTED_EVERY`, since they may be millions."""
    number: int | None = cache.get(_DONE)
    if number is None:
        number = TestRun.objects.filter(state=RunState.DONE).count()
        cache.set(_DONE, number, COUNTED_EVERY.total_seconds())
    return number


def infra_summary() -> list[dict[str, Any]]:
    """List the infrastructure errors that make runs wait or be held: ``{cause, runs, newest}``. One query.

    The list is public. The cause of the most runs comes first; ``newest`` is the time of its last occurrence.
    """
    causes = (
        _unfinished()
        .exclude(reason="")
        .order_by()
        .values("reason")
        .annotate(runs=Count("pk", distinct=True), newest=Max("attempts__ended"))
        .order_by("-runs", "reason")
    )
    return [{"cause": each["reason"], "runs": each["runs"], "newest": each["newest"]} for each in causes[:MOST_CAUSES]]


def infra_causes() -> list[InfraCause]:
    """List these errors as they were recorded, with the runs' submissions, for maintainers. Two queries."""
    errors = Attempt.objects.filter(state=AttemptState.INFRA, run__in=_unfinished()).order_by()
    counted = errors.values("reason").annotate(runs=Count("run", distinct=True), newest=Max("ended"))
    causes = list(counted.order_by("-newest", "reason")[:MOST_CAUSES])
    reasons = [each["reason"] for each in causes]
    submissions: dict[str, set[int]] = defaultdict(set)
    for reason, submission in (
        errors.filter(reason__in=reasons).values_list("reason", "run__implementation__submission_id").distinct()
    ):
        submissions[reason].add(submission)
    return [
        InfraCause(each["reason"], each["runs"], each["newest"], tuple(sorted(submissions[each["reason"]])))
        for each in causes
    ]


def _unfinished() -> TestRunQuerySet:
    return TestRun.objects.filter(state__in=[RunState.QUEUED, RunState.HELD])


def _recent() -> tuple[dict[str, tuple[int, datetime]], tuple[str, ...]]:
    """Return what workers did during the last hour: runs taken by each machine, and the sandboxes of their boxes.

    The first maps a machine to the number of its runs and the time of the last one: a worker forks a process for every
    run, so there are as many names with process ids as runs. The web process itself never makes a box. One query.
    """
    seen: dict[str, tuple[int, datetime]] = {}
    sandboxes = set()
    recent = Attempt.objects.filter(started__gte=timezone.now() - RECENT).order_by("started")
    for worker, started, sandbox in recent.values_list("worker", "started", "sandbox"):
        machine = worker.partition(":")[0]
        seen[machine] = (seen.get(machine, (0, started))[0] + 1, started)
        sandboxes.add(sandbox)
    return dict(sorted(seen.items())), tuple(sorted(sandboxes - {""}))


def _questions() -> Iterator[str]:
    """Yield the state of every answer and verdict that is, or will be, requested from a model. Two queries."""
    yield from _requests().filter(state__in=OPEN).values_list("state", flat=True)
    yield from Judgement.objects.filter(state__in=OPEN).values_list("state", flat=True)


def oldest_question() -> datetime | None:
    """Return since when the oldest answer or verdict waits for a model. Two queries."""
    waiting = [each.filter(state=WorkState.QUEUED) for each in (_requests(), Judgement.objects.all())]
    oldest = [each.order_by("created").values_list("created", flat=True).first() for each in waiting]
    return min((each for each in oldest if each), default=None)


def _requests() -> QuerySet[AnswerRequest]:
    return AnswerRequest.objects.filter(generation__state=GenerationState.RUNNING)


def _sandbox_problem() -> str:
    """Return the reason of the newest attempt if it ended with an infrastructure error."""
    newest = Attempt.objects.exclude(state=AttemptState.RUNNING).order_by("-started", "-pk").first()
    return newest.reason if newest and newest.state == AttemptState.INFRA else ""


def held_in_full(submissions: Iterable[int]) -> dict[int, str]:
    """Return submission's id -> the newest infrastructure error of its held runs, if one was recorded. One query."""
    found = errors_of_held(submissions)
    return {submission: reason for (submission, reevaluation), reason in found.items() if reevaluation is None}


def reevaluations_held_in_full(reevaluations: Iterable[Reevaluation]) -> dict[int, str]:
    """Return re-evaluation's id -> the newest infrastructure error of its held runs, likewise. One query."""
    found = errors_of_held(each.submission_id for each in reevaluations)
    return {reevaluation: reason for (_, reevaluation), reason in found.items() if reevaluation is not None}


def errors_of_held(submissions: Iterable[int]) -> dict[tuple[int, int | None], str]:
    """Return the newest infrastructure errors of the held runs of submissions, if any were recorded. One query.

    Keys are the ids of submission and re-evaluation; None for the submission's first evaluation.
    """
    errors = Attempt.objects.filter(
        state=AttemptState.INFRA, run__state=RunState.HELD, run__implementation__submission__in=list(submissions)
    )
    read = errors.exclude(reason="").order_by("ended", "pk")
    keys = read.values_list("run__implementation__submission", "run__reevaluation", "reason")
    # The last of several, which is the newest, stays in the dictionary.
    return {(submission, reevaluation): reason for submission, reevaluation, reason in keys}
