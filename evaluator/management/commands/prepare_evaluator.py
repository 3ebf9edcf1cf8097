"""``manage.py prepare_evaluator``: prepare everything a box needs before the first run."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.task_environments import wanted_environments


class Command(BaseCommand):
    """Check the sandbox and make the environments that the catalogue's tasks need."""

    help = "Make the sandbox's environments ready, and print which sandbox is used."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Prepare; fails if no box can be started here, and warns of an environment that does not work."""
        try:
            sandbox = configured_sandbox()
            names = wanted_environments()
        except SandboxError as error:
            raise CommandError(str(error)) from None
        for environment in names:
            try:
                digest = sandbox.environment_digest(environment).removeprefix("sha256:")
            except SandboxError as error:
                self.stderr.write(f"{sandbox.name}: environment {environment} does not work: {error}")
            else:
                self.stdout.write(f"{sandbox.name}: environment {environment} {digest[:12]} is ready")
