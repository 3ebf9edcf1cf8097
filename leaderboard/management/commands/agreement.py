"""``manage.py agreement``: how far any two raters agree, as the page shows it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.models import Suite
from leaderboard.domain.agreement import (
    RaterPair,
    UnknownChoiceError,
    check_raters,
    compared,
    rater_pairs,
    read_scope,
)
from leaderboard.domain.agreement_raters import load_ratings
from leaderboard.domain.agreement_texts import statistic_lines

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from leaderboard.agreement.types import PairAgreement

_FILTERS = ("category", "system", "inputs", "samples", "binary")


class Command(BaseCommand):
    """Print every two raters that labelled an answer in common. What is computed here, the page finds ready."""

    help = "Print how far raters (tests, judges, humans) agree on a suite's published answers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which suite, answers and raters, and whether for machines."""
        parser.add_argument("--suite", required=True, help="the suite's slug, such as lmr-bench")
        parser.add_argument("--first", default="", metavar="RATER", help="only pairs with this rater, in rows")
        parser.add_argument("--second", default="", metavar="RATER", help="and with this one, in columns")
        parser.add_argument("--category", default="", metavar="SLUG", help="only tasks of one category")
        parser.add_argument("--system", default="", metavar="SLUG", help="only answers of one system")
        parser.add_argument("--inputs", default="", help="only answers made from these inputs, such as paper_only")
        parser.add_argument("--samples", action="store_true", help="calibration samples instead of ranked answers")
        parser.add_argument("--binary", action="store_true", help="CC against the rest; includes the unit tests")
        parser.add_argument("--json", action="store_true", help="one JSON object instead of text")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the pairs. Raises CommandError for a suite, filter or rater that there is not."""
        suite = Suite.objects.filter(slug=options["suite"]).first()
        if suite is None:
            known = ", ".join(Suite.objects.values_list("slug", flat=True))
            raise CommandError(
                f"There is no suite {options['suite']!r}. Known: {known or 'none; run manage.py load_catalogue first'}."
            )
        given = {name: options[name] for name in _FILTERS if name != "binary"}
        try:
            scope = read_scope(suite=suite, **given)
            check_raters(options["first"], options["second"])
        except UnknownChoiceError as error:
            raise CommandError(str(error)) from error
        ratings = load_ratings(suite=suite, scope=scope)
        pairs = rater_pairs(ratings, binary=options["binary"], first=options["first"], second=options["second"])
        found = [(pair, result) for pair, result in zip(pairs, compared(pairs), strict=True) if result is not None]
        if options["json"]:
            report = {
                "suite": suite.slug,
                **{name: options[name] or None for name in ("category", "system", "inputs")},
                **{name: options[name] for name in ("samples", "binary")},
                "pairs": [_as_data(pair, result) for pair, result in found],
            }
            self.stdout.write(json.dumps(report, indent=2, ensure_ascii=False))
        elif found:
            self.stdout.write("\n\n".join(_text(pair, result) for pair, result in found))
        else:
            self.stdout.write(_nothing(binary=options["binary"]))


def _nothing(*, binary: bool) -> str:
    hint = "" if binary else " Unit tests only pass or fail: they are compared with --binary."
    return f"No two raters labelled the same published answer here.{hint}"


def _as_data(pair: RaterPair, result: PairAgreement) -> dict[str, Any]:
    raters = {
        place: {"slug": rater.slug, "name": rater.name}
        for place, rater in (("first", pair.first), ("second", pair.second))
    }
    return {**raters, "abstained": pair.abstained, **result.as_data()}


def _text(pair: RaterPair, result: PairAgreement) -> str:
    """A heading, the matrix with its marginals, and a line for each statistic."""
    first, second = pair.first, pair.second
    heading = f"{first.name} ({first.slug}, rows) and {second.name} ({second.slug}, columns)"
    counts = f"n = {result.n} in {result.clusters} papers"
    if len(result.labels) > 2:
        counts += f", {result.conflicts} direct conflicts"
    if pair.abstained:
        counts += f"; on {pair.abstained} more, one of the two abstained"
    rows = [("", *result.labels, "all")]
    for label, cells, total in zip(result.labels, result.matrix, result.marginals[0], strict=True):
        rows.append((label, *map(str, cells), str(total)))
    rows.append(("all", *map(str, result.marginals[1]), str(result.n)))
    matrix = ["  ".join(cell.rjust(5) for cell in row) for row in rows]
    lines = statistic_lines(result)
    width = max(len(line.name) for line in lines)
    numbers = [f"{line.name.ljust(width)}  {(line.value or '-').rjust(7)}  {line.note}".rstrip() for line in lines]
    return "\n".join((heading, counts, *matrix, *numbers))
