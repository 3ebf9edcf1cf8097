"""``manage.py analyse``: compute what the analysis pages show of a suite, without waiting for a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from benchmark_tasks.management.suites import newest_version

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Compute the report of a suite's newest version."""

    help = "Compute a suite's analysis now: regression, raters, actions and errors. Workers do it by themselves."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which suite."""
        parser.add_argument("--suite", required=True, help="the suite's slug, such as lmr-bench")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Compute it. Raises CommandError for a suite that there is not."""
        # Loads statsmodels in the end, for which no other command should wait.
        from leaderboard.insight.analysis.report import compute_report

        version = newest_version(options["suite"])
        report = compute_report(version)
        self.stdout.write(f"{version}: computed from {len(report.entries)} published rows")
