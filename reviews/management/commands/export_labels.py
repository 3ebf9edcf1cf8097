"""``manage.py export_labels``: export the labels and decisions of closed cases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.models import Suite
from reviews.reports.exporting import export

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Write a row for every locked label and decision, to a file or the standard output."""

    help = "Write the labels and decisions of closed cases as CSV or JSON Lines."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add options for the suite, the format and the output."""
        parser.add_argument("--format", choices=["csv", "jsonl"], default="csv", help="default: csv")
        parser.add_argument("--suite", help="the suite's slug (default: all suites)")
        parser.add_argument("--output", type=Path, help="the file to write (default: standard output)")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Write the export piece by piece."""
        suite = Suite.objects.filter(slug=options["suite"]).first() if options["suite"] else None
        if options["suite"] and suite is None:
            msg = f"There is no suite {options['suite']!r}."
            raise CommandError(msg)
        pieces = export(form=options["format"], suite=suite)
        if options["output"] is None:
            for piece in pieces:
                self.stdout.write(piece, ending="")
            return
        try:
            # Line ends are part of the format.
            with options["output"].open("w", encoding="utf-8", newline="") as file:
                file.writelines(pieces)
        except OSError as error:
            msg = f"{options['output']} cannot be written: {error.strerror}."
            raise CommandError(msg) from None
        self.stdout.write(f"Wrote {options['output']}.")
