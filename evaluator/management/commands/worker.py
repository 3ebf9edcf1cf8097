"""``manage.py worker``: run queued evaluations, or ask models."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django_rq import get_worker
from redis.exceptions import RedisError

from evaluator.auditing.self_checks import CanaryError, note_unavailable, run_canary
from evaluator.hosts import grants, metrics_server
from evaluator.hosts.reporting import prepare, report
from evaluator.hosts.rows import note_family
from evaluator.queue.processes import Owner, job_label
from evaluator.queue.pushing import SITE, opened, queues_of
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.interface import SandboxError
from evaluator.sweep import reconcile
from evaluator.testing.golden import box_family

log = structlog.get_logger(__name__)

# With RQ's default of seven minutes the maintainer's page would count killed workers too long. RQ subtracts 15 seconds
# from this for the heartbeat interval of an idle worker.
WORKER_TTL_SECONDS = 30
# The heartbeat interval of a worker that evaluates.
MONITORING_SECONDS = 15

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """One worker process. Start one per available processor."""

    help = "Evaluate queued test runs, or with --models ask models for answers and verdicts, until stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the name, the kind of work, and whether to stop when idle."""
        parser.add_argument("--name", default=None, help="shown in logs (default: generated)")
        parser.add_argument("--models", action="store_true", help="ask models instead of evaluating")
        parser.add_argument("--no-audits", action="store_true", help="evaluate answers only, and audit no tasks")
        parser.add_argument("--burst", action="store_true", help="stop when the queue is empty")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Work. An evaluating worker refuses to start without a sandbox, or with one that misjudges.

        A model worker needs a box only for agents, and reports a missing sandbox then.
        """
        name = options["name"] or "worker"
        # Its jobs, which are forked from it, log under this name, too.
        structlog.contextvars.bind_contextvars(process=f"{name}-{os.getpid()}")
        models: bool = options["models"]
        queues = queues_of(models=models, audits=not options["no_audits"])
        if not queues:
            msg = f"POOLS={','.join(settings.ENVIRONMENT.pools)} leaves nothing to do for this worker."
            raise CommandError(msg)
        if models and settings.ENVIRONMENT.keys_problem:
            raise CommandError(settings.ENVIRONMENT.keys_problem)
        if problem := grants.problem():
            raise CommandError(problem)
        if not models:
            _require_sandbox()
        try:
            with opened() as queue:
                queue.connection.ping()
        except RedisError as error:
            msg = f"The queue cannot be reached: {error}. Start it (make run does), or correct REDIS_URL."
            raise CommandError(msg) from None
        report()
        metrics_server.listen()
        if SITE in queues:
            reconcile()
        _preload_sdks() if models else _prove_evaluator()
        # The job runs in a forked child, and a database connection must not be shared with it.
        connections.close_all()
        # Not django-rq's rqworker, which has no option for the monitoring interval and lacks the checks above.
        worker = get_worker(
            *queues,
            name=f"{name}-{Owner.current()}",  # unique among containers, too: process numbers in them are alike
            serializer="json",
            worker_ttl=WORKER_TTL_SECONDS,
            job_monitoring_interval=MONITORING_SECONDS,
        )
        try:
            worker.work(burst=options["burst"], logging_level="WARNING")
        finally:
            _remove_boxes_left()


def _require_sandbox() -> None:
    """Ensure that candidates never run unconfined."""
    try:
        configured_sandbox()
    except SandboxError as error:
        note_unavailable(error)
        msg = f"No worker was started, because no sandbox is available: {error}"
        raise CommandError(msg) from None


def _prove_evaluator() -> None:
    _warm_up()
    try:
        run_canary()
    except CanaryError as error:
        msg = f"No worker was started, because the evaluator failed its own check: {error}"
        raise CommandError(msg) from None


def _warm_up() -> None:
    """Determine the processor family of each environment's boxes, which each job's fork would otherwise repeat.

    An environment that does not work is only logged: jobs that need it fail with the reason, others work.
    """
    sandbox = configured_sandbox()
    for environment, _, why in prepare():
        if not why:
            try:
                family = box_family(
                    sandbox=sandbox, environment=environment, label=job_label(), cancelled=lambda: False
                )
                note_family(family)
            except SandboxError as error:
                log.warning("environment_unusable", environment=environment, error=str(error))


def _preload_sdks() -> None:
    """Import the SDKs before jobs fork, so that no job pays for it."""
    for name in ("anthropic", "openai", "evaluator.providers.transport"):
        import_module(name)


def _remove_boxes_left() -> None:
    """Remove boxes of a killed job: a worker stopped twice kills its job's process, which then cannot clean up."""
    try:
        configured_sandbox().reap(keep=lambda _label: False)
    except SandboxError as error:
        log.warning("reap_failed", error=str(error))
