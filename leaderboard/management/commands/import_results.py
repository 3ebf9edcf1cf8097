"""``manage.py import_results``: import the result files that upstream published, with the raters' own words."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.models import Suite
from leaderboard.board.reported import MissingSuiteError, import_results
from leaderboard.board.upstream_results import FileFate

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable, Iterator

    from leaderboard.board.reported import ResultsImport, RunImport
    from leaderboard.board.upstream_results import FileReport


class Command(BaseCommand):
    """Import upstream's results unchanged; report files read, skipped and refused, with -v 2 each file."""

    help = "Import upstream's published test outcomes, judge answers and human labels. Idempotent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the folder, the suite, and the dry run."""
        parser.add_argument("path", type=Path, metavar="PATH", help="upstream's results folder, or the one above it")
        parser.add_argument("--suite", required=True, help="the suite that was run, such as lmr-bench")
        parser.add_argument("--dry-run", action="store_true", help="store nothing, and print the same")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Import and report. Raises CommandError if nothing could be read, or if files were refused (the rest is
        stored).
        """
        suite = Suite.objects.filter(slug=options["suite"]).first()
        if suite is None:
            known = ", ".join(Suite.objects.order_by("slug").values_list("slug", flat=True))
            raise CommandError(
                f"There is no suite {options['suite']!r}. Known: {known or 'none; run manage.py load_catalogue first'}."
            )
        try:
            report = import_results(folder=options["path"], suite=suite, dry_run=options["dry_run"])
        except (FileNotFoundError, MissingSuiteError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write("\n".join(_lines(report, dry_run=options["dry_run"], each=options["verbosity"] > 1)))
        if not report.runs:
            raise CommandError("Nothing could be read, so nothing was stored.")
        if report.refused:
            rest = "The rest was imported."
            if options["dry_run"]:
                rest = "Nothing was stored; without --dry-run the rest would be imported."
            raise CommandError(f"{report.refused} refused, see above. {rest}")


def _lines(report: ResultsImport, *, dry_run: bool, each: bool) -> Iterator[str]:
    for file in report.files:
        if each or file.fate is FileFate.REFUSED:
            what = file.what.removeprefix(f"{'/'.join(file.path.split('/')[-3:])}: ")
            yield f"{file.fate:8} {file.path}: {what}"
    if not each:
        yield from _summary(report.files)
    counts = Counter(file.fate for file in report.files)
    yield f"{counts[FileFate.READ]} files read, {counts[FileFate.SKIPPED]} skipped, {counts[FileFate.REFUSED]} refused"
    for run in report.runs:
        yield _run_line(run)
    if not report.changed:
        yield "nothing changed"
    else:
        yield f"{report.changed} results {'would change; nothing was stored' if dry_run else 'changed'}"


def _summary(files: Iterable[FileReport]) -> Iterator[str]:
    """Yield a line per group: files read by their rater's folder, skipped files by reason; each with an example."""
    kinds: dict[tuple[FileFate, str], list[str]] = defaultdict(list)
    for file in files:
        if file.fate is not FileFate.REFUSED:
            kind = file.path.partition("/")[0] if file.fate is FileFate.READ else file.what
            kinds[file.fate, kind].append(file.path)
    for (fate, kind), paths in kinds.items():
        many = f"{len(paths)} files, such as " if len(paths) > 1 else ""
        yield f"{fate:8} {kind}: {many}{paths[0]}"


def _run_line(run: RunImport) -> str:
    tests, judge, human = (run.counts[rater] for rater in ("tests", "judge", "human"))
    counts = f"{tests} test outcomes, {judge} judge answers, {human} human labels"
    if run.changed is None:
        return f"refused  {run.slug}: this site has no such reported run ({counts})"
    gaps = "".join(f"; {rater} lacks {', '.join(tasks)}" for rater, tasks in run.missing.items())
    return f"{run.slug}: {counts}{gaps}"
