"""``manage.py release_audits SUITE``: ship the audits that were made here, so that instances take them over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.queries import revisions_of
from benchmark_tasks.management.suites import newest_version
from evaluator.auditing.released import NotReleasableError, release

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Write a suite's audits into this project's files."""

    help = "For maintainers of LMR-Board: write a suite's passed audits to evaluator/auditing/released/."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the suite."""
        parser.add_argument("suite", help="the suite's slug, such as lmr-bench")

    def handle(self, *args: Any, suite: str, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Write them. Raises CommandError for audits that were taken over or made by other code."""
        revisions = list(revisions_of(newest_version(suite)))
        try:
            file, released = release(suite, revisions)
        except NotReleasableError as error:
            raise CommandError(f"Nothing was written. {error}") from None
        self.stdout.write(f"{released} of {len(revisions)} audits are in {file.name}; commit it.")
