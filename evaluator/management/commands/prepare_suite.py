"""``manage.py prepare_suite SUITE``: make the environments of a suite's tasks, and print what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.management.suites import suite_named
from evaluator.sandbox.building import sandbox_in_use
from evaluator.sandbox.environment_list import environment_facts
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.preparing import preparation

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Make a suite's environments. Existing ones are not made again, so an interrupted run can be continued."""

    help = "Make the environments of a suite's tasks: sizes and times first, then each with its progress."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the suite, and whether to make anything."""
        parser.add_argument("suite", help="the suite's slug, such as lmr-bench")
        parser.add_argument("--dry-run", action="store_true", help="print what would be made, and make nothing")

    def handle(self, *args: Any, suite: str, dry_run: bool, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Prepare; exits with 1 when an environment could not be made."""
        found = suite_named(suite)
        try:
            kind = sandbox_in_use()
            needed = preparation(found, kind)
        except SandboxError as error:
            raise CommandError(str(error)) from None
        facts = environment_facts()
        if not needed.environments:
            self.stdout.write(f"No task of {suite} needs an environment here.")
        for one in needed.environments:
            tasks = f"{len(one.tasks)} task{'' if len(one.tasks) == 1 else 's'}"
            state = "is made" if one.name in needed.made else str(facts.get(one.name, "of unknown size"))
            self.stdout.write(f"{one.name} for {kind}, {tasks}: {state}")
        for why, tasks_without in needed.missing.items():
            self.stdout.write(f"not runnable: {', '.join(tasks_without)}: {why}")
        if needed.environments and not dry_run:
            call_command("build_images", suite=suite)
