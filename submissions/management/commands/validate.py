"""``manage.py validate``: list everything that is wrong with a bundle, without submitting it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from submissions.domain.command_line import add_manifest_arguments, lines, packed
from submissions.domain.uploads import check_file, described_by, for_account
from submissions.exceptions import SubmissionError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Check a bundle against the suite it names."""

    help = "Check a bundle without submitting it. Exits with 1 if it would be refused."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add options for the bundle, its manifest and the output format."""
        parser.add_argument("bundle", type=Path, help="a .zip, .tar.gz, .jsonl or .json file, or an output tree")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        add_manifest_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Check the bundle and print the report."""
        path: Path = options["bundle"]
        if not (path.is_file() or path.is_dir()):
            msg = f"{path} is not a file or a folder."
            raise CommandError(msg)
        try:
            with packed(path) as file:
                checked = for_account(check_file(path=file, described=described_by(options)), None)
        except SubmissionError as error:
            raise CommandError(str(error)) from None
        report = checked.report()
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            for line in lines(report):
                self.stdout.write(line)
        if not checked.acceptable:
            raise SystemExit(1)
