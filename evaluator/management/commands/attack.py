"""``manage.py attack``: run the site's attacks against the configured evaluator, and print how many were repelled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.management.suites import suite_named
from evaluator.auditing import self_checks
from evaluator.auditing.canary_round import ATTACKS
from evaluator.enums import AttackGroup
from evaluator.sandbox.interface import SandboxError

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable

    from evaluator.auditing.canary_round import Attack
    from evaluator.models import SelfCheck

GROUPS = [group.value for group in AttackGroup if group is not AttackGroup.CONTROL]


class Command(BaseCommand):
    """Attack the evaluator that this instance is configured with."""

    help = "Run attacks against the configured evaluator. Exits with 1 when any result is unexpected."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare which attacks to run, and the output."""
        parser.add_argument("--group", choices=GROUPS, help="only the attacks of this group")
        parser.add_argument("--name", action="append", default=[], help="only this attack; may be given several times")
        parser.add_argument("--short", action="store_true", help="only the short round that the live system runs")
        parser.add_argument(
            "--suite", help="answers to each scored sealed task of this suite, instead of to the site's own task"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Attack, print, and store the result of a whole round for the status page."""
        report = (lambda _: None) if options["json"] else self._print
        if options["short"]:
            if options["group"] or options["name"] or options["suite"]:
                raise CommandError("--short is a fixed round; give it without --group, --name and --suite.")
            check = self_checks.run_short()
            for row in check.results:
                report(row)
        else:
            try:
                check = self._fire(options, report)
            except SandboxError as error:
                msg = f"The attacks stopped, because the sandbox failed: {error}"
                raise CommandError(msg) from None
        if check.error:
            msg = f"The attacks could not be run, so they show nothing about the evaluator: {check.error}"
            raise CommandError(msg)
        self.stdout.write(json.dumps(_as_data(check)) if options["json"] else _summary(check))
        if not check.ok:
            raise SystemExit(1)

    def _fire(self, options: dict[str, Any], report: Callable[[dict[str, Any]], object]) -> SelfCheck:
        if not options["suite"]:
            return self_checks.run_full(_chosen(options["group"], options["name"]), report=report)
        suite = suite_named(options["suite"])
        # How a box resists does not depend on the task.
        chosen = _chosen(options["group"] or AttackGroup.TAMPERING.value, options["name"])
        check = self_checks.run_suite(suite, chosen, report=report)
        if not check.results:
            raise CommandError(f"No task of {suite.slug} counts, so there is nothing to attack: see audit_tasks.")
        return check

    def _print(self, row: dict[str, Any]) -> None:
        line = f"{row['protocol']:<10} {row['group']:<10} {row['attack']:<28} {row['outcome']:<14}"
        verdict = "as expected" if row["group"] == AttackGroup.CONTROL else "repelled"
        if not row["repelled"]:
            verdict = f"UNEXPECTED, must be {row['expected']}. {row['reason']}"
        self.stdout.write(f"{line} {verdict}")
        self.stdout.flush()


def _chosen(group: str | None, names: list[str]) -> list[Attack]:
    unknown = sorted(set(names) - {attack.name for attack in ATTACKS})
    if unknown:
        known = ", ".join(attack.name for attack in ATTACKS)
        raise CommandError(f"There is no attack {', '.join(unknown)!r}. Known: {known}.")
    chosen = [each for each in ATTACKS if group in (None, each.group) and (not names or each.name in names)]
    if not chosen:
        raise CommandError(f"The group {group} has no attack of that name.")
    return chosen


def _summary(check: SelfCheck) -> str:
    """Return ``12 of 12 repelled``, and what was unexpected. Controls are not attacks."""
    attacks = [row for row in check.results if row["group"] != AttackGroup.CONTROL]
    lines = [f"{sum(row['repelled'] for row in attacks)} of {len(attacks)} repelled"]
    lines += [
        f"The evaluator misjudges a control: {row['attack']} ended with {row['outcome']}."
        for row in check.results
        if row["group"] == AttackGroup.CONTROL and not row["repelled"]
    ]
    return "\n".join(lines)


def _as_data(check: SelfCheck) -> dict[str, Any]:
    attacks = [row for row in check.results if row["group"] != AttackGroup.CONTROL]
    return {
        "sandbox": check.sandbox,
        "environment": check.environment_digest,
        "evaluator_version": check.evaluator_version,
        "ok": check.ok,
        "attacks": len(attacks),
        "repelled": sum(bool(row["repelled"]) for row in attacks),
        "results": check.results,
    }
