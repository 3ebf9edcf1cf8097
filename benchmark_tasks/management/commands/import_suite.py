"""``manage.py import_suite PATH --slug SLUG``: put a suite folder into the catalogue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.kit import KitUnavailableError, build_kit
from benchmark_tasks.domain.problems import ImportRefusedError
from benchmark_tasks.domain.task_files import NO_PAPER, PAPER_FILES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.core.management.base import CommandParser

    from benchmark_tasks.domain.importing import ImportReport
    from benchmark_tasks.domain.problems import ImportProblem

_NAMED_PAPERS = 5

CHANGES = ("created", "changed", "unchanged", "removed")


class Command(BaseCommand):
    """Exit status 0: imported, or nothing to do. 1: refused, nothing was imported."""

    help = "Import a suite folder (docs/authoring-tasks.md). Same content changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """The folder, the suite's slug and title, how much may go wrong, and the form of the report."""
        parser.add_argument("path", type=Path, help="the folder that holds one folder per paper")
        parser.add_argument("--slug", required=True, help="the suite's slug, such as lmr-bench")
        parser.add_argument(
            "--title", default="", help="the suite's title; default: as before, or what suite.json says"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what an import would do, and store nothing")
        parser.add_argument(
            "--strict", action="store_true", help="import nothing if any paper's info.json has an error of form"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def handle(self, *, path: Path, slug: str, title: str, dry_run: bool, strict: bool, json: bool, **_: Any) -> None:
        """Print every problem as ``file:line:column: reason``, then each task and what became of it."""
        try:
            report = import_suite(folder=path, slug=slug, title=title, strict=strict, dry_run=dry_run)
        except ImportRefusedError as refusal:
            self._refuse(refusal.problems, as_json=json)
        if json:
            self._print_json(_as_json(report, dry_run=dry_run))
        else:
            self._tell(report, dry_run=dry_run)
        if not dry_run:
            self._prepare_kit(report, quiet=json)

    def _refuse(self, problems: list[ImportProblem], *, as_json: bool) -> None:
        if as_json:
            self._print_json({"imported": False, "problems": _problems(problems)})
        else:
            for line in _problem_lines(problems):
                self.stderr.write(line)
            count = sum(problem.fatal for problem in problems)
            advice = "1 error. Correct it" if count == 1 else f"{count} errors. Correct them"
            self.stderr.write(f"Nothing was imported: {advice} and run this again.")
        raise SystemExit(1)

    def _tell(self, report: ImportReport, *, dry_run: bool) -> None:
        for line in _problem_lines(report.problems):
            self.stderr.write(line)
        what = f"new version {report.version.number}" if report.version else "nothing changed"
        self.stdout.write(f"{report.suite.title} ({report.suite.slug}): {'dry run, ' if dry_run else ''}{what}")
        lines = _lines(report)
        width = max((len(slug) for slug, _, _ in lines), default=0)
        for slug, change, state in lines:
            self.stdout.write(f"  {slug:<{width}}  {change:<9}  {state}".rstrip())
        for line in _counts(report):
            self.stdout.write(line)

    def _prepare_kit(self, report: ImportReport, *, quiet: bool) -> None:
        """Make the archive now: a big one would keep its first visitor waiting."""
        if report.version is None:
            return
        try:
            kit = build_kit(report.version)
        except KitUnavailableError:
            return
        if not quiet:
            self.stdout.write(f"Task kit: {kit.stat().st_size / 1024**2:.1f} MB")

    def _print_json(self, value: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(value, indent=2))


def _problem_lines(problems: Iterable[ImportProblem]) -> list[str]:
    """Every problem; the same remark about many papers' publications would drown the others, so it is told once."""
    told = list(problems)
    papers = [problem.file.partition("/")[0] for problem in told if problem.message == NO_PAPER]
    if len(papers) < 2:
        return [str(problem) for problem in told]
    more = f" and {len(papers) - _NAMED_PAPERS} more" if len(papers) > _NAMED_PAPERS else ""
    line = (
        f"{PAPER_FILES[0]} is missing in {len(papers)} papers: there is no publication to read with their tasks "
        f"({', '.join(papers[:_NAMED_PAPERS])}{more})"
    )
    return [*(str(problem) for problem in told if problem.message != NO_PAPER), line]


def _lines(report: ImportReport) -> list[tuple[str, str, str]]:
    """Slug, change and state of every task; more reasons than one stand below each other."""
    changes = {slug: name for name in CHANGES for slug in getattr(report, name)}
    lines = []
    for slug in (*report.tasks, *report.removed):
        reasons = [f"not runnable: {reason}" for reason in report.not_runnable.get(slug, ())]
        states = [""] if slug in report.removed else reasons or ["runnable"]
        lines += [(slug, changes[slug], states[0]), *(("", "", state) for state in states[1:])]
    return lines


def _counts(report: ImportReport) -> list[str]:
    total, failing = len(report.tasks), len(report.not_runnable)
    changes = ", ".join(f"{len(getattr(report, name))} {name}" for name in CHANGES)
    lines = [f"Tasks: {total}; {total - failing} runnable, {failing} not runnable; {changes}"]
    if report.left_out:
        advice = "Correct the errors above and run this again; what the suite had of them before stays."
        lines.append(f"Left out: {', '.join(report.left_out)}. {advice}")
    return lines


def _as_json(report: ImportReport, *, dry_run: bool) -> dict[str, Any]:
    changes = {slug: name for name in CHANGES for slug in getattr(report, name)}
    return {
        "imported": not dry_run,
        "suite": report.suite.slug,
        "version": report.version.number if report.version else None,
        **{name: getattr(report, name) for name in CHANGES},
        "tasks": [
            {
                "task": slug,
                "change": changes[slug],
                "runnable": slug not in report.not_runnable,
                "reasons": report.not_runnable.get(slug, ()),
            }
            for slug in report.tasks
        ],
        "not_runnable": report.not_runnable,
        "left_out": report.left_out,
        "problems": _problems(report.problems),
    }


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
