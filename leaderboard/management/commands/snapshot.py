"""``manage.py snapshot``: freeze a suite's board, so that papers can cite it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Suite
from leaderboard.sharing.snapshots.freezing import freeze
from submissions.exceptions import SubmissionError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Freeze the board of a suite's newest version."""

    help = "Freeze a suite's board: a permanent page, a citation and an archive. It can never be changed or deleted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the suite, the title, the note, the superseded snapshot, and the output format."""
        parser.add_argument("--suite", required=True, help="the suite's slug, such as lmr-bench")
        parser.add_argument("--title", required=True, help="short, as a paper would name it; at most 120 characters")
        parser.add_argument("--note", required=True, help="why it is frozen; public")
        parser.add_argument(
            "--supersedes", type=int, metavar="NUMBER", help="an older snapshot that should no longer be cited"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Compute ranks if results changed, freeze the board, and print. Raises CommandError if it is refused."""
        # Imported here: it loads numpy, which no other command needs.
        from leaderboard.board.ranks import rank_version

        suite = Suite.objects.filter(slug=options["suite"]).first()
        if suite is None:
            known = ", ".join(Suite.objects.values_list("slug", flat=True))
            raise CommandError(
                f"There is no suite {options['suite']!r}. Known: {known or 'none; run manage.py load_catalogue first'}."
            )
        if len(options["title"]) > 120:
            raise CommandError("The title is longer than 120 characters.")
        if version := current_version(suite):
            rank_version(version.pk)
        given = {name: options[name] for name in ("title", "note", "supersedes")}
        try:
            made = freeze(suite=suite, actor=None, **given)
        except SubmissionError as error:
            raise CommandError(str(error)) from None
        facts = {
            "suite": suite.slug,
            "snapshot": made.number,
            "address": made.get_absolute_url(),
            "rows": len(made.document["rows"]),
            "sha256": made.archive,
        }
        if options["json"]:
            self.stdout.write(json.dumps(facts, indent=2))
            return
        self.stdout.write("{suite} snapshot {snapshot}: {rows} rows, at {address}\nSHA-256 {sha256}".format(**facts))
