"""``manage.py board``: the rows that the board's page shows."""

from __future__ import annotations

import json
from dataclasses import asdict
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.left_out import left_out_text
from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Category, Suite
from leaderboard.board.columns import DEFAULT_SORT, sorted_metrics, unused_columns
from leaderboard.board.rows import board_metrics, board_rows

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from leaderboard.board.rows import BoardRow, LabelsCell, TestsCell

_DASH = "\N{EN DASH}"
_HEADINGS = ("system", "inputs", "tests %", "judge CC/LC/LI", "human CC/LC/LI")


class Command(BaseCommand):
    """Print the board of a suite's newest version. Percentages have one decimal; a dash means nothing was rated."""

    help = "Print the rows that the board shows."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which suite and category, and whether for machines."""
        parser.add_argument("--suite", required=True, help="the suite's slug, such as lmr-bench")
        parser.add_argument("--category", help="one category's slug; overall without it")
        parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the rows. Raises CommandError for an unknown suite or category."""
        suite = Suite.objects.filter(slug=options["suite"]).first()
        if suite is None:
            raise CommandError(_unknown("suite", options["suite"], Suite.objects.values_list("slug", flat=True)))
        version = current_version(suite)
        if version is None:
            raise CommandError(f"The suite {suite.slug!r} has no version yet. Import its tasks with import_suite.")
        category = _category(options["category"])
        rows = board_rows(sorted_metrics(board_metrics(version, category), DEFAULT_SORT), version, category)
        rows = sorted(rows, key=attrgetter("calibration"))
        if options["json"]:
            report = {
                "suite": suite.slug,
                "version": version.number,
                "category": options["category"],
                "rows": [_as_data(row) for row in rows],
            }
            self.stdout.write(json.dumps(report, indent=2, ensure_ascii=False))
            return
        ranked = [row for row in rows if not row.calibration]
        samples = [row for row in rows if row.calibration]
        self.stdout.write(_table(ranked) if ranked else "Nothing is published on this suite yet.")
        if samples:
            self.stdout.write(
                f"\nCalibration samples, which check the evaluation itself and are not ranked\n{_table(samples)}"
            )
        measured = next((row for row in rows if not row.reported), None)
        if measured is not None and measured.left_out:
            self.stdout.write(f"\n{left_out_text(measured.left_out)}. The suite's page says why.")


def _category(slug: str | None) -> Category | None:
    if not slug:
        return None
    category = Category.objects.filter(slug=slug).first()
    if category is None:
        raise CommandError(_unknown("category", slug, Category.objects.values_list("slug", flat=True)))
    return category


def _unknown(kind: str, slug: str, known: Any) -> str:
    return f"There is no {kind} {slug!r}. Known: {', '.join(known) or 'none; run manage.py load_catalogue first'}."


def _as_data(row: BoardRow) -> dict[str, Any]:
    """The row's fields, percentages rounded as shown."""
    data = asdict(row)
    for cell in (data["tests"], data["judge"], data["human"], data["final"]):
        for key in {"percent", "low", "high", "cc", "lc", "li"} & (cell or {}).keys():
            cell[key] = None if cell[key] is None else round(cell[key], 1)
    for cell in filter(None, (data["judge"], data["human"])):
        del cell["sources"]
    if data["final"]:
        data["final"]["sources"] = dict(data["final"]["sources"])
    return data | {
        "date": row.date.isoformat(timespec="seconds") if row.date else None,
        "provenance": row.provenance,
        "remarks": list(row.remarks),
        "flagged": list(row.flagged),
        "left_out": list(row.left_out),
    }


def _cells(row: BoardRow, *, final: bool) -> tuple[str, ...]:
    measured = (row.system, row.inputs, _tests(row.tests), _labels(row.judge), _labels(row.human))
    return (*measured, *([_labels(row.final), _sources(row.final)] if final else []), row.provenance)


def _sources(cell: LabelsCell | None) -> str:
    return _DASH if cell is None else cell.sources_text


def _tests(cell: TestsCell | None) -> str:
    if cell is None:
        return _DASH
    interval = "" if cell.low is None or cell.high is None else f" [{cell.low:.1f}, {cell.high:.1f}]"
    return f"{cell.percent:.1f}{interval}"


def _labels(cell: LabelsCell | None) -> str:
    return _DASH if cell is None else f"{cell.cc:.1f} / {cell.lc:.1f} / {cell.li:.1f}"


def _table(rows: list[BoardRow]) -> str:
    """Rows under headings. Final labels have columns only where annotators gave some: else they are the judge's."""
    final = "final" not in unused_columns(rows)
    headings = (*_HEADINGS, *(["final CC/LC/LI", "final labels"] if final else []), "source")
    lines = [headings, *(_cells(row, final=final) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
