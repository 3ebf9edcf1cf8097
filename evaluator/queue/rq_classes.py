"""Job and worker classes for ``settings.RQ``, where RQ's own are unsuitable."""

from __future__ import annotations

import mmap
import os
import signal
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import structlog
from rq import Worker, worker_registration
from rq.job import Job

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from redis.client import Pipeline
    from rq import Queue

JOB_MODULES: Final = ("evaluator.jobs", "leaderboard.upkeep.jobs")
"""The rooms' modules of job functions, by name only: imports point one way, and a worker loads them when needed."""

GIVING_UP_SECONDS: Final = 7.0
"""How long a job's process has to give its work back when its worker must stop at once."""


_STOPS: Final = mmap.mmap(-1, 1)
"""One byte that a worker shares with the processes of its jobs: 1 once it must stop."""


def worker_stops() -> bool:
    """Return, in a job, whether its worker must stop after the current piece of work."""
    return bool(_STOPS[0])


class KnownJob(Job):
    """A job that can only call functions of :data:`JOB_MODULES`.

    RQ imports the name that a job carries, and the names of its callbacks. With the JSON serializer alone, anyone who
    can write to Redis could therefore call any importable function with any arguments (``os.system``).
    """

    @property
    def func(self) -> Callable[..., Any]:
        """The function to call. Raises ``LookupError`` for any other name: this site did not write such a job."""
        module, _, name = str(self.func_name).rpartition(".")
        function = getattr(import_module(module), name, None) if module in JOB_MODULES else None
        if self.instance is not None or function is None or function.__module__ != module:
            msg = f"{str(self.func_name)[:80]!r} is not a job of this site"
            raise LookupError(msg)
        known: Callable[..., Any] = function
        return known

    @property
    def success_callback(self) -> None:
        """None: jobs here have no callbacks."""

    @property
    def failure_callback(self) -> None:
        """None: jobs here have no callbacks."""

    @property
    def stopped_callback(self) -> None:
        """None: jobs here have no callbacks."""


class ReleasingWorker(Worker):
    """Worker that gives its work back when it must stop: an orderly stop is no infrastructure error of the work.

    RQ itself kills the job's process with SIGKILL, after which the lease would have to expire.
    """

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """Report that the worker lives; register it again if Redis has lost it.

        A record lives for a minute and a half without heartbeats. RQ itself makes one without queues then, and nothing
        would know what this worker does.
        """
        if pipeline is None and not self.connection.hexists(self.key, "queues"):
            with self.connection.pipeline() as registering:
                registering.hset(self.key, mapping=self.serialize())
                worker_registration.register(self, registering)
                registering.execute()
        super().heartbeat(timeout, pipeline)

    def handle_warm_shutdown_request(self) -> None:
        """Let the current job know that it must begin nothing else."""
        _STOPS[0] = 1
        super().handle_warm_shutdown_request()  # type: ignore[no-untyped-call]

    def perform_job(self, job: Job, queue: Queue) -> bool:
        """Run the job. Its log lines name the queue and the call, which may be of a job that cannot be read."""
        with structlog.contextvars.bound_contextvars(queue=queue.name, job=str(job.description)[:80]):
            return super().perform_job(job, queue)

    def setup_work_horse_signals(self) -> None:
        """Have SIGTERM (from :meth:`kill_horse`, or from an init system to all processes) interrupt the job."""
        super().setup_work_horse_signals()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGTERM, _interrupt)

    def kill_horse(self, sig: signal.Signals = signal.SIGKILL) -> None:
        """Ask the job's process to end, and kill it if it does not."""
        deadline = time.monotonic() + GIVING_UP_SECONDS
        try:
            os.kill(self.horse_pid, signal.SIGTERM)
            while not _has_ended(self.horse_pid) and time.monotonic() < deadline:
                time.sleep(0.05)
        except (ProcessLookupError, ChildProcessError):
            return
        super().kill_horse(sig)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # The work is given back once; a second signal must not interrupt that.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _has_ended(child: int) -> bool:
    """Return whether a child has ended. Does not reap it: RQ waits for its status."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
