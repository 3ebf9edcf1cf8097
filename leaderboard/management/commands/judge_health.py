"""``manage.py judge_health``: measure judges on canaries, answers whose label is known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.management.suites import newest_version
from evaluator.judging.health import ABSTAINED, AT_LEAST, AT_MOST, NoCanariesError, check_health
from evaluator.labels import Label
from evaluator.management.shared import judges
from leaderboard.insight.judges import with_interval

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig, JudgeHealth

_COLUMNS = (*map(str, Label), ABSTAINED)
_RATES = ("sensitivity", "specificity", "injection_resistance", "injections_noticed", "abstention", "repeatability")


class Command(BaseCommand):
    """Let judges label answers whose label is known, and store and print the rates."""

    help = "Run the canaries against the judges: sensitivity, specificity, injection resistance, abstentions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the judge, the canaries, and the output format."""
        parser.add_argument("--config", help="only this judge (its slug); default: all active judges")
        parser.add_argument("--suite", default="lmr-mini", help="the suite whose tasks the canaries are made from")
        parser.add_argument("--tasks", type=int, help="only the first N tasks; each takes about thirty calls")
        parser.add_argument("--again", action="store_true", help="repeat calls that were already made today")
        parser.add_argument("--json", action="store_true", help="print one JSON object, with every canary")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Check and print. Exits with code 1 if a threshold is missed or a round could not be completed."""
        if options["tasks"] is not None and options["tasks"] < 1:
            raise CommandError(f"--tasks must be at least 1, not {options['tasks']}.")
        configs = judges(options["config"])
        version = newest_version(options["suite"])
        checks = [self._check(config, version, options) for config in configs]
        if options["json"]:
            self.stdout.write(json.dumps({"judges": [_as_data(check) for check in checks]}))
        if any(check.error or check.summary["missed"] for check in checks):
            raise SystemExit(1)

    def _check(self, config: JudgeConfig, version: SuiteVersion, options: dict[str, Any]) -> JudgeHealth:
        quiet = options["json"] or options["verbosity"] < 2
        try:
            check = check_health(
                config=config,
                version=version,
                tasks=options["tasks"],
                again=options["again"],
                report=(lambda _: None) if quiet else self._report,
            )
        except NoCanariesError as error:
            raise CommandError(str(error)) from None
        if not options["json"]:
            self._print(check)
        return check

    def _report(self, result: dict[str, Any]) -> None:
        labels = " ".join(label or "--" for label in result["labels"])
        self.stdout.write(f"    {'ok ' if result['ok'] else 'BAD'} {labels}  {result['canary']}")

    def _print(self, check: JudgeHealth) -> None:
        self.stdout.write(f"{check.config.slug} ({check.config.model}): {len(check.results)} canaries")
        self.stdout.write(f"    {'':<12}" + "".join(f"{column:>11}" for column in _COLUMNS))
        for kind, row in check.summary["table"].items():
            self.stdout.write(f"    {kind:<12}" + "".join(f"{row[column]:>11}" for column in _COLUMNS))
        for name in _RATES:
            limit = _limit(name) if name in check.summary["missed"] else ""
            self.stdout.write(f"    {name.replace('_', ' '):<22}{_in_words(with_interval(check.summary[name]))}{limit}")
        for result in check.results:
            if not result["ok"]:
                label = result["label"] or ABSTAINED
                self.stdout.write(f"    {result['canary']}: {label}, should be {' or '.join(result['expected'])}")
        if check.error:
            self.stdout.write(f"    The round could not be completed: {check.error}")


def _in_words(rate: dict[str, Any]) -> str:
    if rate["value"] is None:
        return "undefined (no such canary)"
    interval = f"95 % interval {rate['low']:.2f} to {rate['high']:.2f}"
    return f"{rate['value']:.2f}  ({rate['count']} of {rate['n']}, {interval})"


def _limit(name: str) -> str:
    threshold = f"at most {AT_MOST[name]:.2f}" if name in AT_MOST else f"at least {AT_LEAST[name]:.2f}"
    return f"  MISSED: {threshold} is required"


def _as_data(check: JudgeHealth) -> dict[str, Any]:
    return {
        "config": check.config.slug,
        "model": check.config.model,
        "error": check.error,
        "summary": {**check.summary, **{name: with_interval(check.summary[name]) for name in _RATES}},
        "results": check.results,
        "dollars": None if check.dollars is None else str(check.dollars),
    }
