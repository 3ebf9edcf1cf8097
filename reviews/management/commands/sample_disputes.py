"""``manage.py sample_disputes``: open sample cases for trying out reviewing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from reviews.annotators.practice import ensure_practice
from reviews.cases.sample_disputes import COUNT, sample_disputes
from submissions.exceptions import SubmissionError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Submit sample answers with scripted votes, open a case for each, and create the practice round."""

    help = "Open sample cases, on answers made by the site, for trying out reviewing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add options for the suite and the number of cases."""
        parser.add_argument("--suite", default="lmr-mini", help="the suite's slug")
        parser.add_argument("--count", type=int, default=COUNT, help=f"total number of sample cases (default {COUNT})")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Open missing cases, then print the next steps."""
        if options["count"] < 1:
            msg = "--count must be at least 1."
            raise CommandError(msg)
        try:
            sampled = sample_disputes(suite=options["suite"], count=options["count"])
            practice = ensure_practice()
        except SubmissionError as error:
            msg = f"The samples were not created: {error}"
            raise CommandError(msg) from None
        opened = f"{sampled.opened} opened" if sampled.opened else "already there"
        self.stdout.write(f"Sample cases: {sampled.total} ({opened}), on submission {sampled.submission.pk}.")
        self.stdout.write(f"Practice items: {practice}.")
        self.stdout.write(
            "Next: as a maintainer, invite two annotators and an adjudicator on /reviews/people/. Each opens the link, "
            "signs in, reads the guidelines, practises, and takes the next item on /reviews/. Waiting cases are on "
            "/reviews/dashboard/. Unit test outcomes appear once workers run (make run)."
        )
