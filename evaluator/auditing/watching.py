"""Audit many tasks at a time, so that each result can be stored at once and all can be watched and stopped."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.db import connections

from evaluator.auditing.auditor import measure
from evaluator.auditing.released import expected_seconds
from evaluator.sandbox.interface import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmark_tasks.models import SeedEpoch, TaskRevision
    from evaluator.auditing.audit_result import AuditResult

Found: TypeAlias = "tuple[AuditResult, dict[str, Any]] | SandboxError"
"""An audit's result and conditions, or why it could not be made."""
_EVERY: Final = 30.0
"""After so many seconds without a result the progress is reported again."""


class AuditRound:
    """The audit of ``tasks``, ``jobs`` at a time; those that took the release's machine longest begin first."""

    def __init__(self, tasks: list[tuple[TaskRevision, SeedEpoch]], *, jobs: int) -> None:
        known = {revision.pk: seconds for revision, _ in tasks if (seconds := expected_seconds(revision)) is not None}
        usual = sum(known.values()) / len(known) if known else 0.0
        self._expected = {revision.pk: known.get(revision.pk, usual) for revision, _ in tasks}
        self.tasks = sorted(tasks, key=lambda task: -self._expected[task[0].pk])
        self.jobs = max(1, min(jobs, len(tasks)))
        self._stop = Event()
        self._running: dict[TaskRevision, float] = {}
        self._taken: dict[int, float] = {}

    def results(self, report: Callable[[], None]) -> Iterator[tuple[TaskRevision, Found]]:
        """Yield each task and its result as soon as it is there, and call ``report`` at times in between.

        If the caller stops early, by an exception too, all running boxes are stopped within seconds.
        """
        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            futures = {pool.submit(self._measure, *task): task[0] for task in self.tasks}
            pending: set[Future[Found]] = set(futures)
            try:
                while pending:
                    ended, pending = wait(pending, timeout=_EVERY, return_when=FIRST_COMPLETED)
                    if not ended:
                        report()
                    for future in ended:
                        yield futures[future], future.result()
            finally:
                self._stop.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def _measure(self, revision: TaskRevision, epoch: SeedEpoch) -> Found:
        started = self._running[revision] = monotonic()
        try:
            return measure(revision, epoch, cancelled=self._stop.is_set)
        except SandboxError as error:
            return error
        finally:
            del self._running[revision]
            self._taken[revision.pk] = monotonic() - started
            # Close the connections that this thread opened; Django does not.
            connections.close_all()

    def running(self) -> str:
        """Describe what runs now and for how long, as in ``dola/1 (2:10), cad/1 (0:05)``; longest first."""
        now = monotonic()
        running = [(now - since, revision.task.slug) for revision, since in [*self._running.items()]]
        return ", ".join(
            f"{slug} ({int(seconds) // 60}:{int(seconds) % 60:02d})" for seconds, slug in sorted(running, reverse=True)
        )

    def seconds_left(self) -> float | None:
        """Estimate the time left; None before anything is known.

        It is the release's time for the other tasks, scaled by this machine's speed so far; without a release, the mean
        time of those that ended.
        """
        taken, released = sum(self._taken.values()), any(self._expected.values())
        if not released and not self._taken:
            return None
        mean = taken / len(self._taken) if self._taken else 0.0
        scale = taken / sum(self._expected[pk] for pk in self._taken) if released and self._taken else 1.0
        now = monotonic()
        running = {revision.pk: now - since for revision, since in [*self._running.items()]}
        left = [
            max((self._expected[pk] * scale if released else mean) - running.get(pk, 0.0), 0.0)
            for pk in self._expected
            if pk not in self._taken
        ]
        return max(sum(left) / self.jobs, max(left, default=0.0))
