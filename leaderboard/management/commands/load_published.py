"""``manage.py load_published``: load the reported results that ship with the project."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from leaderboard.board.ranks import rank_outdated
from leaderboard.board.reported import MissingSuiteError, load_published


class Command(BaseCommand):
    """Load upstream's published LMR-BENCH results as rows marked as reported."""

    help = "Load the shipped published results. Idempotent."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Load them. Raises CommandError if the suite is missing."""
        try:
            count = load_published()
            # Workers do this too, but the first page of a new instance is often seen before they start.
            rank_outdated()
        except MissingSuiteError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{count} published runs loaded")
