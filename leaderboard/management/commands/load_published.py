"""``manage.py load_published``: the results that others reported, from the shipped facts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from leaderboard.board.reported import MissingSuiteError, load_published


class Command(BaseCommand):
    """Load what upstream published about LMR-BENCH, as rows that are marked as reported."""

    help = "Load the shipped published results. Idempotent."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Load."""
        try:
            count = load_published()
        except MissingSuiteError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{count} published runs loaded")
