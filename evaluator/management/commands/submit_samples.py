"""``manage.py submit_samples``: let the site measure answers whose outcomes are known."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Suite
from submissions.domain.operators import local_operator
from submissions.domain.samples import SampleKind, build_sample
from submissions.domain.submitting import submit
from submissions.exceptions import SubmissionError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Queue the golden, stub and mixed samples as the operator; they publish themselves, unranked, when scored."""

    help = "Submit the sample bundles of a suite, once per suite version."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which suite."""
        parser.add_argument("--suite", default="lmr-mini", help="the suite's slug")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Submit what was not submitted before."""
        suite = Suite.objects.filter(slug=options["suite"]).first()
        version = current_version(suite) if suite else None
        if version is None:
            msg = f"There is no suite {options['suite']!r}; run manage.py load_catalogue first."
            raise CommandError(msg)
        for kind in SampleKind:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"{kind.value}.zip"
                try:
                    path.write_bytes(build_sample(kind, version).content)
                    submitted = submit(owner=local_operator(), path=path, publish_licence="AGPL-3.0-or-later")
                except SubmissionError as error:
                    msg = f"The {kind.value} sample was not submitted: {error}"
                    raise CommandError(msg) from None
            word = "queued" if submitted.created else "was submitted before"
            self.stdout.write(f"{kind.value}: {word}, submission {submitted.submission.pk}")
