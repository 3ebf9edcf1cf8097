"""``manage.py import_suite PATH --slug SLUG``: import a suite folder into the catalogue."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.kit import KitUnavailableError, build_kit
from benchmark_tasks.domain.problems import ImportRefusedError, general_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from django.core.management.base import CommandParser

    from benchmark_tasks.domain.importing import ImportReport
    from benchmark_tasks.domain.problems import ImportProblem

_MOST_NAMED = 5

CHANGES = ("created", "changed", "unchanged", "removed")


class Command(BaseCommand):
    """Import a suite folder. Exit status 0: imported, or nothing to do; 1: refused, nothing was imported."""

    help = "Import a suite folder (docs/authoring-tasks.md). Same content changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the folder, the suite's slug and title, strictness, and the form of the report."""
        parser.add_argument("path", type=Path, help="the folder that holds one folder per paper")
        parser.add_argument("--slug", required=True, help="the suite's slug, such as lmr-bench")
        parser.add_argument(
            "--title", default="", help="the suite's title; default: as before, or the one in suite.json"
        )
        parser.add_argument("--dry-run", action="store_true", help="report what an import would do, and store nothing")
        parser.add_argument(
            "--strict", action="store_true", help="import nothing if any paper's info.json has a format error"
        )
        parser.add_argument(
            "--without-overlays",
            action="store_true",
            help="keep the suite's own unit tests, without the sealed tests that LMR-Board adds to it",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def handle(
        self, *, path: Path, slug: str, title: str, dry_run: bool, strict: bool, json: bool, **options: Any
    ) -> None:
        """Import; print errors as ``file:line:column: reason``, remarks and reasons by kind (``-v 2``: each one)."""
        try:
            report = import_suite(
                folder=path,
                slug=slug,
                title=title,
                strict=strict,
                dry_run=dry_run,
                with_overlays=not options["without_overlays"],
                read_papers=True,
            )
        except ImportRefusedError as refusal:
            self._refuse(refusal.problems, as_json=json)
        if json:
            self._print_json(_as_json(report, dry_run=dry_run))
        else:
            self._report(report, dry_run=dry_run, each=options["verbosity"] > 1)
        if not dry_run:
            self._prepare_kit(report, quiet=json)

    def _refuse(self, problems: list[ImportProblem], *, as_json: bool) -> None:
        if as_json:
            self._print_json({"imported": False, "problems": _problems(problems)})
        else:
            for line in _remarks(problems):
                self.stderr.write(line)
            count = sum(problem.fatal for problem in problems)
            advice = "1 error. Correct it" if count == 1 else f"{count} errors. Correct them"
            self.stderr.write(f"Nothing was imported: {advice} and run this again.")
        raise SystemExit(1)

    def _report(self, report: ImportReport, *, dry_run: bool, each: bool) -> None:
        for line in map(str, report.problems) if each else _remarks(report.problems):
            self.stderr.write(line)
        what = f"new version {report.version.number}" if report.version else "nothing changed"
        self.stdout.write(f"{report.suite.title} ({report.suite.slug}): {'dry run, ' if dry_run else ''}{what}")
        for line in (*(_lines(report) if each else _summary(report)), *_counts(report)):
            self.stdout.write(line)

    def _prepare_kit(self, report: ImportReport, *, quiet: bool) -> None:
        """Build the archive now: with a large one, the first visitor would have to wait."""
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


def _remarks(problems: Iterable[ImportProblem]) -> Iterator[str]:
    """Yield errors one by one, and each remark once with its files; reasons of tasks are reported with the tasks."""
    files: dict[str, list[str]] = defaultdict(list)
    for problem in problems:
        if problem.fatal:
            yield str(problem)
        elif not problem.task:
            files[general_reason(problem.message)].append(str(replace(problem, message="")).removesuffix(": "))
    for message, named in files.items():
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        yield f"{', '.join(named[:_MOST_NAMED])}{more}: {message}"


def _summary(report: ImportReport) -> Iterator[str]:
    """Yield the runnable tasks, and each reason why others are not once, with the tasks that have it."""
    runnable = [slug for slug in report.tasks if slug not in report.not_runnable]
    if runnable:
        yield f"  runnable: {', '.join(runnable)}"
    tasks: dict[str, list[str]] = defaultdict(list)
    for slug, reasons in report.not_runnable.items():
        for reason in dict.fromkeys(map(general_reason, reasons)):
            tasks[reason].append(slug)
    for reason, slugs in tasks.items():
        yield f"  not runnable: {reason}: {', '.join(slugs)}"
    if report.removed:
        yield f"  removed: {', '.join(report.removed)}"


def _lines(report: ImportReport) -> Iterator[str]:
    """Yield slug, change and state of every task; the reasons are among the problems."""
    changes = {slug: name for name in CHANGES for slug in getattr(report, name)}
    width = max(map(len, changes), default=0)
    for slug in (*report.tasks, *report.removed):
        state = "" if slug in report.removed else "not runnable" if slug in report.not_runnable else "runnable"
        yield f"  {slug:<{width}}  {changes[slug]:<9}  {state}".rstrip()


def _counts(report: ImportReport) -> list[str]:
    total, failing = len(report.tasks), len(report.not_runnable)
    changes = ", ".join(f"{len(getattr(report, name))} {name}" for name in CHANGES)
    lines = [f"Tasks: {total}; {total - failing} runnable, {failing} not runnable; {changes}"]
    if report.left_out:
        advice = "Correct the errors above and run this again; their tasks in the suite stay as before."
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
