"""``manage.py load_catalogue``: load categories, facts about upstream's suite, and the shipped suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.catalogue import load_catalogue
from benchmark_tasks.domain.facts_suite import FACTS_SUITE
from benchmark_tasks.domain.problems import ImportRefusedError

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion


class Command(BaseCommand):
    """Load the catalogue. Runs at every start; repeating it changes nothing."""

    help = "Load the catalogue that LMR-Board ships. Never replaces an operator's own import."

    def handle(self, **_: Any) -> None:
        """Load the catalogue and print one line for each suite."""
        try:
            report = load_catalogue()
        except ImportRefusedError as refusal:
            message = f"The shipped suite is damaged; restore benchmark_tasks/suites.\n{refusal}"
            raise CommandError(message) from refusal
        if report.facts is None:
            self.stdout.write(f"{FACTS_SUITE}: an operator's import, left alone")
        else:
            self._report(FACTS_SUITE, report.facts.version)
        for problem in report.shipped.problems:
            self.stderr.write(str(problem))
        self._report(report.shipped.suite.slug, report.shipped.version)

    def _report(self, slug: str, version: SuiteVersion | None) -> None:
        self.stdout.write(f"{slug}: {f'version {version.number} loaded' if version else 'unchanged'}")
