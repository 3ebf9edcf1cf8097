"""Code shared by several commands: exit codes, judges, and evaluation in this process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.core.management.base import BaseCommand, CommandError

from evaluator.judging.configs import HOW_TO_CONFIGURE, active_configs
from evaluator.sweep import expire_leases
from evaluator.testing.evaluate import evaluate_next
from submissions.enums import SubmissionState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evaluator.models import JudgeConfig

EXIT_INVALID = 1
INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended."""
POLL_SECONDS = 0.5
ENDED = {SubmissionState.SCORED, SubmissionState.HELD, SubmissionState.CANCELLED}


class OneForWrongArguments(BaseCommand):
    """A command that exits with 1 for wrong arguments. argparse would use 2, which means held here."""

    def run_from_argv(self, argv: list[str]) -> None:
        """Run like Django's, except for the exit code of arguments that argparse refuses."""
        parser = self.create_parser(argv[0], argv[1])
        try:
            # Before Django calls it, a parser raises instead of ending the process.
            parser.parse_args(argv[2:])
        except CommandError as error:
            self.stderr.write(f"{parser.format_usage()}{error}")
            raise SystemExit(EXIT_INVALID) from None
        super().run_from_argv(argv)


def judges(slug: str | None) -> list[JudgeConfig]:
    """Return the active judges, or the one called ``slug``. Raises ``CommandError`` when there is none."""
    configs = list(active_configs())
    if not configs:
        raise CommandError(HOW_TO_CONFIGURE)
    found = [config for config in configs if slug in (None, config.slug)]
    if not found:
        known = ", ".join(config.slug for config in configs)
        raise CommandError(f"There is no active judge {slug!r}. Active: {known}.")
    return found


def evaluate_or_wait(submissions: Iterable[int]) -> None:
    """Run one test run of these submissions here; if other workers hold them all, expire leases and pause."""
    if not any(evaluate_next(submission_id=pk) for pk in submissions):
        expire_leases()
        time.sleep(POLL_SECONDS)
