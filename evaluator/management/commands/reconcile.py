"""``manage.py reconcile``: restart unfinished work, once or repeatedly."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import structlog
from django.core.management.base import BaseCommand
from django.db import close_old_connections
from django.db.utils import OperationalError

from evaluator.auditing import self_checks
from evaluator.sweep import reconcile

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
        """Sweep."""
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
        started = True
        while not stop.is_set():
            close_old_connections()
            try:
                sweep = reconcile()
                self_checks.push_when_due(started=started)
                started = False
            except OperationalError as error:
                log.warning("sweep_failed", error=str(error))
            else:
                log.debug("swept", expired=sweep.expired, pushed=sweep.pushed, reaped=sweep.reaped)
            stop.wait(options["every"])
