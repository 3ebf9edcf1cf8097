"""``manage.py import_suite PATH --slug SLUG``: put a suite folder into the catalogue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.problems import ImportRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.core.management.base import CommandParser

    from benchmark_tasks.domain.importing import ImportReport
    from benchmark_tasks.domain.problems import ImportProblem


class Command(BaseCommand):
    """Exit status 0: imported, or nothing to do. 1: refused, nothing was imported."""

    help = "Import a suite folder (docs/authoring-tasks.md). Same content changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """The folder, the suite's slug and title, and the form of the report."""
        parser.add_argument("path", type=Path, help="the folder that holds one folder per paper")
        parser.add_argument("--slug", required=True, help="the suite's slug, such as lmr-bench")
        parser.add_argument(
            "--title", default="", help="the suite's title; default: as before, or what suite.json says"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def handle(self, *, path: Path, slug: str, title: str, json: bool, **_: Any) -> None:
        """Print every problem as ``file:line:column: reason``, then what changed."""
        try:
            report = import_suite(folder=path, slug=slug, title=title)
        except ImportRefusedError as refusal:
            self._refuse(refusal.problems, as_json=json)
        else:
            self._tell(report, as_json=json)

    def _refuse(self, problems: list[ImportProblem], *, as_json: bool) -> None:
        if as_json:
            self._print_json({"imported": False, "problems": _problems(problems)})
        else:
            for problem in problems:
                self.stderr.write(str(problem))
            count = sum(problem.fatal for problem in problems)
            self.stderr.write(f"Nothing was imported: {count} error(s) of form. Correct them and run this again.")
        raise SystemExit(1)

    def _tell(self, report: ImportReport, *, as_json: bool) -> None:
        if as_json:
            self._print_json(
                {
                    "imported": True,
                    "suite": report.suite.slug,
                    "version": report.version.number if report.version else None,
                    "created": report.created,
                    "changed": report.changed,
                    "unchanged": report.unchanged,
                    "removed": report.removed,
                    "not_runnable": report.not_runnable,
                    "problems": _problems(report.problems),
                }
            )
            return
        for problem in report.problems:
            self.stderr.write(str(problem))
        what = f"new version {report.version.number}" if report.version else "nothing changed"
        self.stdout.write(f"{report.suite.title} ({report.suite.slug}): {what}")
        for name in ("created", "changed", "unchanged", "removed"):
            self._row(name, getattr(report, name))
        self._row("not runnable", list(report.not_runnable))

    def _row(self, name: str, slugs: tuple[str, ...] | list[str]) -> None:
        self.stdout.write(f"  {name:<12} {len(slugs):>4}  {' '.join(slugs)}".rstrip())

    def _print_json(self, value: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(value, indent=2))


def _problems(problems: Iterable[ImportProblem]) -> list[dict[str, Any]]:
    return [
        {
            "file": problem.file,
            "line": problem.line,
            "column": problem.column,
            "message": problem.message,
            "fatal": problem.fatal,
        }
        for problem in problems
    ]
