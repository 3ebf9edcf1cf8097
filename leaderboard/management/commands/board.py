"""``manage.py board``: print the rows that the board's page shows."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.left_out import left_out_text
from benchmark_tasks.management.suites import newest_version
from benchmark_tasks.management.tables import aligned
from benchmark_tasks.models import Category
from leaderboard.board.columns import DEFAULT_SORT, sorted_metrics, unused_columns
from leaderboard.board.rows import board_metrics, board_rows

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from leaderboard.board.row import BoardRow, LabelsCell, TestsCell

_DASH = "\N{EN DASH}"
_HEADINGS = ("system", "inputs", "tests %", "judge CC/LC/LI", "human CC/LC/LI")


class Command(BaseCommand):
    """Print the board of a suite's newest version. Percentages have one decimal; a dash means no result."""

    help = "Print the rows that the board shows."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the suite, the category and the output's format."""
        parser.add_argument("--suite", required=True, help="the suite's slug, such as lmr-bench")
        parser.add_argument("--category", help="one category's slug; overall without it")
        parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the rows. Raises CommandError for an unknown suite or category."""
        version = newest_version(options["suite"])
        category = _category(options["category"])
        rows = board_rows(sorted_metrics(board_metrics(version, category), DEFAULT_SORT), version, category)
        rows = sorted(rows, key=attrgetter("calibration"))
        if options["json"]:
            report = {
                "suite": version.suite.slug,
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
            self.stdout.write(f"\n{left_out_text(measured.left_out)}. The suite's page gives the reasons.")


def _category(slug: str | None) -> Category | None:
    if not slug:
        return None
    category = Category.objects.filter(slug=slug).first()
    if category is None:
        known = ", ".join(Category.objects.values_list("slug", flat=True)) or "none; run manage.py load_catalogue first"
        raise CommandError(f"There is no category {slug!r}. Known: {known}.")
    return category


def _as_data(row: BoardRow) -> dict[str, Any]:
    """Return the row's fields, with percentages rounded as shown."""
    data = {**dict(row), "date": row.date and row.date.isoformat(timespec="seconds"), "source": row.source}
    data["partial_tests"] = row.partial_tests and row.partial_tests.model_dump()
    for name in ("tests", "judge", "human", "final"):
        cell = getattr(row, name)
        data[name] = cell and {
            key: round(value, 1) if value is not None and key in {"percent", "low", "high", "cc", "lc", "li"} else value
            for key, value in cell
            if key != "sources"
        }
    if row.final:
        data["final"]["sources"] = dict(row.final.sources)
    return data


def _cells(row: BoardRow, *, final: bool) -> tuple[str, ...]:
    tests = row.partial_tests.words if row.partial_tests else _tests(row.tests)
    measured = (row.system, row.inputs, tests, _labels(row.judge), _labels(row.human))
    return (*measured, *([_labels(row.final), _sources(row.final)] if final else []), row.provenance.label)


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
    """Write rows under headings. Final labels have columns only if annotators gave some; else they are the judge's."""
    final = "final" not in unused_columns(rows)
    headings = (*_HEADINGS, *(["final CC/LC/LI", "final labels"] if final else []), "source")
    return aligned([headings, *(_cells(row, final=final) for row in rows)])
