"""``manage.py add_judge``: make a judge from an endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from evaluator.judging.configs import VOTES, VOTES_WHEN_SPLIT, add_judge
from submissions.exceptions import SubmissionError
from submissions.models import Endpoint

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Make a judge owned by the endpoint's owner, who must be a maintainer."""

    help = "Make a judge of a registered endpoint, with the endpoint's current settings."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the endpoint, the judge's name and its votes."""
        parser.add_argument("--endpoint", required=True, help="the endpoint's number or name")
        parser.add_argument("--name", default="", help="the judge's name (default: its model)")
        parser.add_argument("--vendor", default="", help="the model's family, shown where judged systems share it")
        parser.add_argument("--votes", type=int, default=VOTES, help="how many votes an answer gets")
        parser.add_argument(
            "--votes-when-split", type=int, default=VOTES_WHEN_SPLIT, help="how many if the first ones differ"
        )

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Make the judge, or print an existing one with the same settings."""
        endpoint = _endpoint(options["endpoint"])
        try:
            config = add_judge(
                actor=endpoint.owner,
                endpoint=endpoint,
                name=options["name"],
                votes=options["votes"],
                votes_when_split=options["votes_when_split"],
                vendor=options["vendor"],
            )
        except SubmissionError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            f"{config.slug}: {config.model}, {config.votes} votes, {config.votes_when_split} when they differ.\n"
            f"Check it with: manage.py judge_health --config {config.slug}"
        )


def _endpoint(given: str) -> Endpoint:
    rows = Endpoint.objects.select_related("owner")
    found = list(rows.filter(pk=int(given)) if given.isdecimal() else rows.filter(name=given))
    if not found:
        known = ", ".join(f"{row.pk} ({row.name}, {row.owner})" for row in rows) or "none; register one on the site"
        msg = f"There is no endpoint {given!r}. Known: {known}."
        raise CommandError(msg)
    if len(found) > 1:
        numbers = ", ".join(f"{row.pk} ({row.owner})" for row in found)
        msg = f"Several endpoints are called {given!r}; give the number instead: {numbers}."
        raise CommandError(msg)
    return found[0]
