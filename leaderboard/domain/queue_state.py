"""What a maintainer sees of the queue: how much waits, who works, and in what boxes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db.models import Count
from django.utils import timezone
from redis.exceptions import RedisError
from rq import Worker
from rq.serializers import JSONSerializer

from evaluator.domain.queueing import connect
from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun

if TYPE_CHECKING:
    from datetime import datetime

RECENT: Final = timedelta(hours=1)
# Workers give a sign of life every 15 seconds (manage.py worker); one that missed two of them was killed.
LISTENING: Final = timedelta(seconds=40)


@dataclass(frozen=True, slots=True)
class SeenWorker:
    """A machine whose workers took runs during the last hour."""

    name: str
    attempts: int
    last: datetime


@dataclass(frozen=True, slots=True)
class QueueState:
    """``registered`` is how many workers listen now; None when the queue's server does not answer."""

    queued: int
    running: int
    held: int
    done: int
    oldest_waiting: datetime | None
    registered: int | None
    seen: tuple[SeenWorker, ...]
    sandboxes: tuple[str, ...]
    sandbox_problem: str
    unconfined: bool


def queue_state() -> QueueState:
    """Ask the database and the queue's server."""
    counts = Counter(dict(TestRun.objects.order_by().values_list("state").annotate(number=Count("pk"))))
    waiting = TestRun.objects.filter(state=RunState.QUEUED).order_by("created").values_list("created", flat=True)
    return QueueState(
        queued=counts[RunState.QUEUED],
        running=counts[RunState.RUNNING],
        held=counts[RunState.HELD],
        done=counts[RunState.DONE],
        oldest_waiting=waiting.first(),
        registered=_registered_workers(),
        seen=_seen(),
        sandboxes=_sandboxes(),
        sandbox_problem=_sandbox_problem(),
        unconfined=settings.ENVIRONMENT.sandbox_allow_no_cgroups,
    )


def _seen() -> tuple[SeenWorker, ...]:
    """By machine: a worker forks a process for every run, so that names with process ids are as many as runs."""
    recent = Attempt.objects.filter(started__gte=timezone.now() - RECENT).order_by("started")
    attempts: Counter[str] = Counter()
    last = {}
    for worker, started in recent.values_list("worker", "started"):
        machine = worker.partition(":")[0]
        attempts[machine] += 1
        last[machine] = started
    return tuple(SeenWorker(machine, attempts[machine], last[machine]) for machine in sorted(last))


def _registered_workers() -> int | None:
    try:
        with connect() as connection:
            workers = Worker.all(connection=connection, serializer=JSONSerializer)
            alive = timezone.now() - LISTENING
            return sum(worker.last_heartbeat is not None and worker.last_heartbeat >= alive for worker in workers)
    except RedisError:
        return None


def _sandboxes() -> tuple[str, ...]:
    """In what boxes the workers ran something during the last hour. The web process itself never makes one."""
    recent = Attempt.objects.filter(started__gte=timezone.now() - RECENT).exclude(sandbox="")
    return tuple(sorted(set(recent.order_by().values_list("sandbox", flat=True))))


def _sandbox_problem() -> str:
    """The reason of the newest attempt, if it ended by a fault of ours."""
    newest = Attempt.objects.exclude(state=AttemptState.RUNNING).order_by("-started", "-pk").first()
    return newest.reason if newest and newest.state == AttemptState.INFRA else ""
