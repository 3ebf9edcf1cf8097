"""``manage.py alive``: the health check of a host that works for a site, for containers and service managers."""

from __future__ import annotations

import socket
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from evaluator.hosts.rows import with_signs_of_life
from evaluator.queue.listening import listening
from evaluator.queue.pushing import queues_of


class Command(BaseCommand):
    """Read what the host's programs report anyway; nothing is tried, so the check costs little."""

    help = "Check that this host reports and each of its queues has a worker here; end with 1 if not."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Raise CommandError with the first thing that is missing."""
        name = settings.ENVIRONMENT.host_name
        try:
            reporting = [host for host, live in with_signs_of_life() if live and host.name == name]
        except DatabaseError as error:
            msg = f"The database does not answer: {error}"
            raise CommandError(msg) from None
        if not reporting:
            msg = f"Host {name} has not reported lately: its reconciler does not run."
            raise CommandError(msg)
        if problem := reporting[0].problem:
            msg = f"Host {name} cannot evaluate: {problem}"
            raise CommandError(msg)
        workers = listening(machine=socket.gethostname())
        if workers is None:
            msg = "The queue's server does not answer."
            raise CommandError(msg)
        queues = dict.fromkeys((*queues_of(models=True), *queues_of()))
        if lacking := [queue for queue in queues if not workers[queue]]:
            msg = f"No worker of this machine listens to: {', '.join(lacking)}"
            raise CommandError(msg)
        self.stdout.write(f"Host {name} reports, and its workers listen to: {', '.join(queues)}")
