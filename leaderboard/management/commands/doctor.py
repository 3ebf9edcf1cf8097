"""``manage.py doctor``: report what works on this host, what does not, and what to do."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from leaderboard.doctor.checks import CHECKS
from leaderboard.doctor.findings import State, examine

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from leaderboard.doctor.findings import Finding


class Command(BaseCommand):
    """Run every check that concerns this host, within a minute. Ends with 1 if one failed."""

    help = "Report what works on this host and what does not, each with what to do. Ends with 1 if something failed."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the output."""
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the findings as they come."""
        logging.disable(logging.CRITICAL)  # the findings report what the log would
        found = []
        try:
            for finding in examine(CHECKS):
                found.append(finding)
                if not options["json"]:
                    self._print(finding)
        finally:
            logging.disable(logging.NOTSET)
        works = all(each.state is not State.FAILED for each in found)
        if options["json"]:
            self.stdout.write(json.dumps({"ok": works, "findings": [each._asdict() for each in found]}, indent=2))
        if not works:
            raise SystemExit(1)

    def _print(self, finding: Finding) -> None:
        self.stdout.write(f"{finding.state:<8} {finding.name:<22} {finding.found}")
        if finding.todo:
            self.stdout.write(f"{'':9}{finding.todo}")
        self.stdout.flush()
