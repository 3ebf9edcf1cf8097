"""``manage.py sample_bundle``: write a bundle with known outcomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Suite
from submissions.domain.samples import SampleKind, build_sample
from submissions.exceptions import SuiteNotOpenError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Write a bundle of golden answers, masked stubs, or a mixture of right and wrong answers."""

    help = "Write a sample bundle (kind calibration) with known outcomes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add options for the kind of answers, the suite, and the output files."""
        parser.add_argument("kind", choices=[kind.value for kind in SampleKind])
        parser.add_argument("--suite", required=True, help="the suite's slug")
        parser.add_argument("--output", required=True, type=Path, help="the zip to write")
        parser.add_argument("--expected", type=Path, help="also write the expected outcome of each task, as JSON")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Write the bundle, and the expected outcomes if requested."""
        suite = Suite.objects.filter(slug=options["suite"]).first()
        version = current_version(suite) if suite else None
        if version is None:
            known = ", ".join(Suite.objects.values_list("slug", flat=True)) or "none; run manage.py load_catalogue"
            msg = f"There is no suite {options['suite']!r}. Known: {known}."
            raise CommandError(msg)
        try:
            sample = build_sample(options["kind"], version)
            options["output"].write_bytes(sample.content)
            if options["expected"]:
                options["expected"].write_text(json.dumps(sample.expected, indent=2) + "\n", encoding="utf-8")
        except (SuiteNotOpenError, OSError) as error:
            raise CommandError(str(error)) from None
        answered = sum(outcome != "not_attempted" for outcome in sample.expected.values())
        tasks = f"{answered} of {len(sample.expected)} tasks"
        self.stdout.write(f"{options['output']}: {options['kind']} answers for {tasks} of {version}")
