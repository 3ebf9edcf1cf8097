"""``manage.py worker``: evaluate what the queue hands out, or ask models."""

from __future__ import annotations

import os
import signal
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import structlog
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from redis.exceptions import RedisError
from rq import Worker
from rq.serializers import JSONSerializer

from evaluator.auditing.self_checks import CanaryError, note_unavailable, run_canary
from evaluator.queue.known_jobs import KnownJob
from evaluator.queue.queueing import audit_queue, connect, model_queue, queue, upload_queue
from evaluator.queue.reconcile import reconcile
from evaluator.queue.warming import warm_up
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.types import SandboxError

log = structlog.get_logger(__name__)

GIVING_UP_SECONDS = 7.0
"""How long the process of a job has to give its work back when its worker is told to stop at once."""

# With RQ's own seven minutes the maintainer's page would go on counting killed workers. RQ takes 15 seconds off this
# for the pause between the signs of life of a worker that waits.
WORKER_TTL_SECONDS = 30
# The same pause for a worker that evaluates.
MONITORING_SECONDS = 15

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from types import FrameType

    from redis import Redis
    from rq import Queue


class ReleasingWorker(Worker):
    """Gives the work in hand back when it is told to stop: an orderly stop is no infrastructure error of the work.

    RQ itself kills the process of the job with SIGKILL, and its lease would have to run out.
    """

    def setup_work_horse_signals(self) -> None:
        """SIGTERM (from :meth:`kill_horse`, or from an init system to all processes) interrupts the job."""
        super().setup_work_horse_signals()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGTERM, _interrupt)

    def kill_horse(self, sig: signal.Signals = signal.SIGKILL) -> None:
        """Ask the process of the job to end, and kill it if it does not."""
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
    """Whether a child has ended, without taking its status from RQ, which waits for it."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class Command(BaseCommand):
    """One worker process. Start as many as there are processors to give."""

    help = "Evaluate queued test runs, or with --models ask models for answers and verdicts, until stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Its name, what it does, and whether to stop when nothing waits."""
        parser.add_argument("--name", default=None, help="shown in logs; made up when not given")
        parser.add_argument("--models", action="store_true", help="ask models instead of evaluating")
        parser.add_argument("--no-audits", action="store_true", help="evaluate answers only, and audit no tasks")
        parser.add_argument("--burst", action="store_true", help="stop when the queue is empty")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Work. An evaluating worker refuses to start without a sandbox, or with one that misjudges.

        A model worker needs a box for agents only, and then says so itself.
        """
        models: bool = options["models"]
        if not models:
            _require_sandbox()
        try:
            connection = connect()
            connection.ping()
        except RedisError as error:
            msg = f"The queue cannot be reached: {error}. Start it (make run does), or correct REDIS_URL."
            raise CommandError(msg) from None
        reconcile()
        _preload_sdks() if models else _prove_evaluator()
        # The job runs in a forked child, and a database connection must not be shared with it.
        connections.close_all()
        name = f"{options['name'] or 'worker'}-{os.getpid()}"
        worker = ReleasingWorker(
            queues_of(connection, models=models, audits=not options["no_audits"]),
            connection=connection,
            name=name,
            serializer=JSONSerializer,
            job_class=KnownJob,
            worker_ttl=WORKER_TTL_SECONDS,
            job_monitoring_interval=MONITORING_SECONDS,
        )
        try:
            worker.work(burst=options["burst"], logging_level="WARNING")
        finally:
            _remove_boxes_left()


def queues_of(connection: Redis, *, models: bool = False, audits: bool = True) -> list[Queue]:
    """Where a worker looks for work, the first first.

    A check is short where nobody makes it long. So one worker is there for answers (it makes no ``audits``), and those
    that ask ``models`` do that first: a few accounts that send slow files one after the other delay checks alone.
    """
    if models:
        return [model_queue(connection), upload_queue(connection)]
    if not audits:
        return [queue(connection), upload_queue(connection)]
    return [upload_queue(connection), queue(connection), audit_queue(connection)]


def _require_sandbox() -> None:
    """Candidates never run unconfined."""
    try:
        configured_sandbox()
    except SandboxError as error:
        note_unavailable(error)
        msg = f"No worker was started, because no sandbox is available: {error}"
        raise CommandError(msg) from None


def _prove_evaluator() -> None:
    warm_up()
    try:
        run_canary()
    except CanaryError as error:
        msg = f"No worker was started, because the evaluator failed its own check: {error}"
        raise CommandError(msg) from None


def _preload_sdks() -> None:
    """Each job runs in a fork: what is imported before costs it nothing."""
    for name in ("anthropic", "openai", "evaluator.providers.transport"):
        import_module(name)


def _remove_boxes_left() -> None:
    """A worker that is told to stop twice kills the process of its job, which can then not remove its own box."""
    try:
        configured_sandbox().reap(keep=lambda _label: False)
    except SandboxError as error:
        log.warning("reap_failed", error=str(error))
