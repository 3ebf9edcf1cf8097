"""``manage.py attack``: fire every known attack at the configured evaluator, and say how many were repelled."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from evaluator.attacks import corpus
from evaluator.attacks.types import Group
from evaluator.auditing import self_checks
from evaluator.sandbox.types import SandboxError

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Container

    from evaluator.attacks.types import Attack, AttackResult
    from evaluator.models import SelfCheck

GROUPS = [group.value for group in Group if group is not Group.CONTROL]


class Command(BaseCommand):
    """Attack the evaluator that this instance is configured with."""

    help = "Fire known attacks at the configured evaluator. Ends with 1 when anything ends otherwise than it must."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which attacks, and how to print."""
        parser.add_argument("--group", choices=GROUPS, help="only the attacks of this group")
        parser.add_argument("--name", action="append", default=[], help="only this attack; may be given several times")
        parser.add_argument("--short", action="store_true", help="only what the live system is tried with now and then")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Attack, print, and keep the result of a whole round for the status page."""
        check = self._short(options) if options["short"] else self._chosen(options)
        if check.error:
            msg = f"The evaluator could not be attacked, which proves nothing: {check.error}"
            raise CommandError(msg)
        if options["json"]:
            self.stdout.write(json.dumps(_as_data(check)))
        else:
            self.stdout.write(_summary(check.results))
        if not check.ok:
            raise SystemExit(1)

    def _short(self, options: dict[str, Any]) -> SelfCheck:
        if options["group"] or options["name"]:
            msg = "--short is a fixed round; give it without --group and --name."
            raise CommandError(msg)
        check = self_checks.run_short()
        for row in [] if options["json"] else check.results:
            self.stdout.write(_line(row))
        return check

    def _chosen(self, options: dict[str, Any]) -> SelfCheck:
        try:
            attacks = corpus.choose(group=Group(options["group"]) if options["group"] else None, names=options["name"])
        except KeyError as error:
            msg = f"There is no attack {error.args[0]!r}. Known: {', '.join(a.name for a in corpus.ATTACKS)}."
            raise CommandError(msg) from None
        if not attacks:
            msg = f"The group {options['group']} has no attack of that name."
            raise CommandError(msg)
        return self._fire(attacks, quiet=options["json"])

    def _fire(self, attacks: list[Attack], *, quiet: bool) -> SelfCheck:
        def told(result: AttackResult) -> None:
            self.stdout.write(_line(result.as_data()))
            self.stdout.flush()

        try:
            return self_checks.run_full(
                attacks, told=(lambda _: None) if quiet else told, store=len(attacks) == len(corpus.ATTACKS)
            )
        except SandboxError as error:
            msg = f"Nothing was attacked, because no sandbox is available: {error}"
            raise CommandError(msg) from None


def _line(row: dict[str, Any]) -> str:
    verdict = "as it must" if row["repelled"] and row["group"] == Group.CONTROL else "repelled"
    line = f"{row['protocol']:<20} {row['group']:<10} {row['attack']:<28} {row['outcome']:<14}"
    if row["repelled"]:
        return f"{line} {verdict}"
    return f"{line} UNEXPECTED, must be {row['expected']}. {row['reason']}"


def _summary(rows: list[dict[str, Any]]) -> str:
    """``190 of 190 repelled (sealed 69 of 69, …)``, and what was unexpected. Controls are not attacks."""
    attacks = [row for row in rows if row["group"] != Group.CONTROL]
    fired = Counter(row["protocol"] for row in attacks)
    repelled = Counter(row["protocol"] for row in attacks if row["repelled"])
    ways = ", ".join(f"{way} {repelled[way]} of {number}" for way, number in fired.items())
    lines = [f"{sum(repelled.values())} of {len(attacks)} repelled ({ways})"]
    lines += [
        f"The evaluator misjudges what is no attack: {row['attack']} by {row['protocol']} ended with {row['outcome']}."
        for row in rows
        if row["group"] == Group.CONTROL and not row["repelled"]
    ]
    return "\n".join([*lines, *_gaps(fired)])


def _gaps(fired: Container[str]) -> list[str]:
    """What is known not to be repelled by the ways gone, so that nobody takes the numbers for more than they are."""
    return [
        f"Known gap, not counted: {attack.name}, by {way.value}. {attack.tries}"
        for attack in corpus.KNOWN_GAPS
        for way in attack.expected
        if way.value in fired
    ]


def _as_data(check: SelfCheck) -> dict[str, Any]:
    attacks = [row for row in check.results if row["group"] != Group.CONTROL]
    ways: dict[str, dict[str, int]] = {}
    for row in attacks:
        way = ways.setdefault(row["protocol"], {"fired": 0, "repelled": 0})
        way["fired"] += 1
        way["repelled"] += bool(row["repelled"])
    return {
        "sandbox": check.sandbox,
        "environment": check.environment_digest,
        "evaluator_version": check.evaluator_version,
        "ok": check.ok,
        "attacks": len(attacks),
        "repelled": sum(bool(row["repelled"]) for row in attacks),
        "protocols": ways,
        "known_gaps": [
            {"attack": attack.name, "protocol": way.value, "tries": attack.tries}
            for attack in corpus.KNOWN_GAPS
            for way in attack.expected
        ],
        "results": check.results,
    }
