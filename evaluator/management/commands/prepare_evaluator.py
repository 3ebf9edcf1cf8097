"""``manage.py prepare_evaluator``: prepare everything a box needs before the first run."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from evaluator.hosts.reporting import prepare, report
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.task_environments import short_digest


class Command(BaseCommand):
    """Check the sandbox and make the environments that the catalogue's tasks need."""

    help = "Make the sandbox's environments ready, and print which sandbox is used."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Prepare; fails if no box can be started here, and warns of an environment that does not work."""
        if not settings.ENVIRONMENT.evaluates:
            self.stdout.write(f"POOLS={','.join(settings.ENVIRONMENT.pools)}: this host runs no boxes")
            return
        try:
            sandbox = configured_sandbox().name
            report()
            for environment, digest, why in prepare():
                if why:
                    self.stderr.write(f"{sandbox}: environment {environment} does not work: {why}")
                else:
                    self.stdout.write(f"{sandbox}: environment {environment} {short_digest(digest)} is ready")
        except SandboxError as error:
            raise CommandError(str(error)) from None
