"""``manage.py analyse``: compute the data of a suite's analysis pages now, without waiting for a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from benchmark_tasks.management.suites import newest_version

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Compute the report of a suite's newest version."""

    help = "Compute a suite's analysis now: regression, raters, actions and errors. Workers also do it automatically."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the suite."""
        parser.add_argument("--suite", required=True, help="the suite's slug, such as lmr-bench")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Compute and print the number of rows. Raises CommandError for an unknown suite."""
        # Imported here: it loads statsmodels, which no other command should wait for.
        from leaderboard.insight.analysis.report import compute_report

        version = newest_version(options["suite"])
        report = compute_report(version)
        self.stdout.write(f"{version}: computed from {len(report.entries)} published rows")
