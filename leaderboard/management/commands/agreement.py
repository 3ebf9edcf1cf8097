"""``manage.py agreement``: rater agreement, as the page shows it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.models import Suite
from leaderboard.insight.agreement.raters import Asked, UnknownChoiceError
from leaderboard.insight.agreement.report import RaterPair, read_report
from leaderboard.insight.agreement.texts import (
    accuracy_lines,
    annotators_lines,
    rate_lines,
    sampling_sentence,
    statistic_lines,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from leaderboard.insight.agreement.raters import Rater
    from leaderboard.insight.agreement.texts import Line
    from leaderboard.insight.agreement.trust import AnnotatorsAgreement, JudgeTrust

_OPTIONS = ("category", "system", "inputs", "samples", "binary", "first", "second")


class Command(BaseCommand):
    """Print every two raters that labelled an answer in common."""

    help = "Print how far raters (tests, judges, annotators) agree on a suite's published answers."

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
        asked = Asked(**{name: options[name] for name in _OPTIONS})
        try:
            report = read_report(suite=suite, asked=asked)
        except UnknownChoiceError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            found = {
                "suite": suite.slug,
                **{name: options[name] or None for name in ("category", "system", "inputs")},
                **{name: options[name] for name in ("samples", "binary")},
                "pairs": [pair.as_data() for pair in report.pairs],
                "annotators": asdict(report.annotators),
                "judges": [_trust_as_data(judge, trust) for judge, trust in report.judges],
            }
            self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))
            return
        texts = [_text(pair) for pair in report.pairs] or [_nothing(binary=options["binary"])]
        if report.annotators.number:
            texts.append(_annotators_text(report.annotators))
        texts += [_judge_text(judge, trust) for judge, trust in report.judges if trust.n]
        self.stdout.write("\n\n".join(texts))


def _nothing(*, binary: bool) -> str:
    hint = "" if binary else " Unit tests only pass or fail: they are compared with --binary."
    return f"No two raters labelled the same published answer here.{hint}"


def _trust_as_data(judge: Rater, trust: JudgeTrust) -> dict[str, Any]:
    return {"judge": {"slug": judge.slug, "name": judge.name}, **asdict(trust)}


def _annotators_text(found: AnnotatorsAgreement) -> str:
    heading = f"Annotators among themselves: {found.number} annotators, {found.n} answers with two labels or more"
    return "\n".join((heading, *_written(annotators_lines(found))))


def _judge_text(judge: Rater, trust: JudgeTrust) -> str:
    heading = f"{judge.name} ({judge.slug}) against final labels by annotators"
    counts = f"n = {trust.n}, {trust.abstained} of them abstentions"
    classes = [
        f"{label}: {words}; found {found.value or '-'} ({found.note}), right {right.value or '-'} ({right.note})"
        for label, words, found, right in accuracy_lines(trust)
    ]
    return "\n".join((heading, counts, *classes, sampling_sentence(trust), *_written(rate_lines(trust))))


def _written(lines: list[Line]) -> list[str]:
    """A row for each statistic: name, value, interval, in columns."""
    width = max(len(line.name) for line in lines)
    return [f"{line.name.ljust(width)}  {(line.value or '-').rjust(7)}  {line.note}".rstrip() for line in lines]


def _text(pair: RaterPair) -> str:
    """A heading, the matrix with its marginals, and a line for each statistic."""
    first, second, result = pair.first, pair.second, pair.result
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
    return "\n".join((heading, counts, *matrix, *_written(statistic_lines(result))))
