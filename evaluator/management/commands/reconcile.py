"""``manage.py reconcile``: restart unfinished work, once or repeatedly."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import close_old_connections, connection
from django.db.utils import OperationalError

from evaluator.auditing import self_checks
from evaluator.hosts import metrics_server
from evaluator.hosts.reporting import lacks_environment, prepare, report
from evaluator.sandbox.interface import SandboxError
from evaluator.sweep import reconcile, sweep_host

if TYPE_CHECKING:
    from argparse import ArgumentParser

log = structlog.get_logger(__name__)


class Command(BaseCommand):
    """Expire leases, queue what the database lists as unfinished, remove boxes of dead workers."""

    help = "Restart unfinished work: once, or with --every until stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare how often."""
        parser.add_argument("--every", type=float, metavar="SECONDS", help="repeat the sweep with this pause")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Sweep; with ``--every`` also report this host's signs of life, and make environments that tasks need."""
        if options["every"] is None:
            sweep = reconcile()
            self.stdout.write(
                f"leases expired: {sweep.expired}, runs planned: {sweep.planned}, "
                f"runs pushed: {sweep.pushed}, boxes removed: {sweep.reaped}"
            )
            return
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        started, maker = True, _Maker()
        while not stop.is_set():
            close_old_connections()
            try:
                report()
                metrics_server.listen()
                if settings.ENVIRONMENT.evaluates:
                    maker.make_what_is_lacking()
                if "site" in settings.ENVIRONMENT.pools:
                    sweep = reconcile()
                    self_checks.push_when_due(started=started)
                    log.debug("swept", expired=sweep.expired, pushed=sweep.pushed, reaped=sweep.reaped)
                else:
                    sweep_host()
                started = False
            except OperationalError as error:
                log.warning("sweep_failed", error=str(error))
            stop.wait(options["every"])


class _Maker:
    """Makes environments in a thread, since that takes minutes, and signs of life must go on."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def make_what_is_lacking(self) -> None:
        """Start the thread if this host lacks an environment and the thread is not at work."""
        if (self._thread is None or not self._thread.is_alive()) and lacks_environment():
            self._thread = threading.Thread(target=self._make, name="environments", daemon=True)
            self._thread.start()

    def _make(self) -> None:
        try:
            for _ in prepare():
                pass
        except (SandboxError, OperationalError) as error:
            log.warning("environments_not_made", error=str(error))
        finally:
            connection.close()
