"""``manage.py validate``: everything that is wrong with a bundle, without queueing it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from submissions.domain.described import add_manifest_arguments, described_by
from submissions.domain.reports import lines
from submissions.domain.uploads import check_file

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Check a bundle against the suite it names."""

    help = "Check a bundle without submitting it. Ends with 1 when it would be refused."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The bundle, and how to print."""
        parser.add_argument("bundle", type=Path, help="a .zip, .tar.gz or .jsonl file")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        add_manifest_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Check and print."""
        path: Path = options["bundle"]
        if not path.is_file():
            msg = f"{path} is not a file."
            raise CommandError(msg)
        checked = check_file(path=path, described=described_by(options))
        report = checked.report()
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            for line in lines(report):
                self.stdout.write(line)
        if not checked.acceptable:
            raise SystemExit(1)
