"""``manage.py import_labels``: labels that were exported, here or elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from reviews.record.importing import ImportRefusedError, import_labels
from submissions.domain.operators import local_operator

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Store all of a file, or nothing and say what is wrong with it."""

    help = "Import labels from a file that export_labels wrote; what is here already is left alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which file."""
        parser.add_argument("file", type=Path, help="CSV or JSON Lines, as exported")
        parser.add_argument("--dry-run", action="store_true", help="check everything, store nothing")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Import it as the operator."""
        path: Path = options["file"]
        try:
            content = path.read_bytes()
        except OSError as error:
            msg = f"{path} cannot be read: {error.strerror}."
            raise CommandError(msg) from None
        try:
            imported = import_labels(actor=local_operator(), content=content, dry_run=options["dry_run"])
        except ImportRefusedError as error:
            for problem in error.problems:
                self.stderr.write(f"{path.name}, {problem}" if problem.line else f"{path.name}: {problem}")
            msg = "Nothing was imported."
            raise CommandError(msg) from None
        self.stdout.write(("Would be imported: " if options["dry_run"] else "Imported: ") + str(imported))
