"""``manage.py submit_samples``: submit answers whose outcomes are known, to check the evaluation."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.content import ContentMissingError
from benchmark_tasks.management.suites import newest_version
from evaluator.reevaluation.planning import fits
from submissions.domain.operators import local_operator
from submissions.domain.samples import SampleKind, build_sample
from submissions.domain.submitting import submit
from submissions.enums import Kind, SubmissionState
from submissions.exceptions import SubmissionError
from submissions.models import Submission

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User


class Command(BaseCommand):
    """Queue the golden, stub and mixed samples as the operator; they are published unranked when scored."""

    help = "Submit the sample bundles of a suite, unless existing ones can move to its newest version."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the suite."""
        parser.add_argument("--suite", default="lmr-mini", help="the suite's slug")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Submit samples that were not submitted before."""
        version = newest_version(options["suite"])
        owner = local_operator()
        for kind in SampleKind:
            word, submission = self._submit(kind, version, owner)
            self.stdout.write(f"{kind.value}: {word}, submission {submission.pk}")

    def _submit(self, kind: SampleKind, version: SuiteVersion, owner: User) -> tuple[str, Submission]:
        before = _existing_submission(kind, version, owner)
        if before is not None:
            at = before.suite_version.number
            return "was submitted before" + (f", to version {at}" if at != version.number else ""), before
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{kind.value}.zip"
            try:
                path.write_bytes(build_sample(kind, version).content)
                submitted = submit(owner=owner, path=path, publish_licence="AGPL-3.0-or-later")
            except SubmissionError as error:
                msg = f"The {kind.value} sample was not submitted: {error}"
                raise CommandError(msg) from None
        return "queued" if submitted.created else "was submitted before", submitted.submission


def _existing_submission(kind: SampleKind, newest: SuiteVersion, owner: User) -> Submission | None:
    """Return this sample's submission that a re-evaluation has moved, moves or can move to the ``newest`` version.

    A bundle names the version that it was made for, so each version's sample has another digest.
    """
    mine = Submission.objects.filter(owner=owner, kind=Kind.CALIBRATION, suite_version__suite=newest.suite)
    mine = mine.exclude(state=SubmissionState.CANCELLED).select_related("suite_version").order_by("-pk")
    fitting = {submission.bundle_digest: submission for submission in mine if fits(submission, newest)}
    if not fitting:
        return None
    for version in newest.suite.versions.order_by("-number"):
        try:
            digest = build_sample(kind, version).digest
        except (ContentMissingError, SubmissionError):
            # A version that is not stored completely, or had nothing to run.
            continue
        if digest in fitting:
            return fitting[digest]
    return None
