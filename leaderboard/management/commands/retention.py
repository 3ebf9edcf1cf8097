"""``manage.py retention``: remove what is older than the operator keeps it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand

from leaderboard.upkeep import retention
from submissions.domain.removals import Part

if TYPE_CHECKING:
    from argparse import ArgumentParser

_SETTINGS = dict(zip(Part, ("keep_uploads_days", "keep_trajectories_days", "keep_raw_replies_days"), strict=True))


class Command(BaseCommand):
    """Remove everything that is due now; the sweep does the same once a day."""

    help = "Remove uploads, trajectories and requests to models that are older than KEEP_…_DAYS."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the dry run."""
        parser.add_argument("--dry-run", action="store_true", help="show what would be removed, and remove nothing")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print a line for each part."""
        if options["dry_run"]:
            counts, verb = Counter(retention.due().counts), "to be removed"
        else:
            counts, verb = Counter(), "removed"
            while any((removed := retention.sweep()).values()):
                counts.update(removed)
        for part, name in _SETTINGS.items():
            days = getattr(settings.ENVIRONMENT, name)
            limit = f"{name.upper()}={days}" if days else f"{name.upper()} is 0: kept forever"
            self.stdout.write(f"{part.value}: {counts[part]} {verb} ({limit})")
