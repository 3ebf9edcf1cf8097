"""Write the file of a suite's public answers, keep the newest, and detect a stale file or one that must be withheld."""

from __future__ import annotations

import json
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.utils import timezone

from benchmark_tasks.domain.content import put_file, stored_at
from benchmark_tasks.domain.queries import categories_of
from benchmark_tasks.domain.zips import member
from benchmark_tasks.models import Suite
from evaluator.queue.pushing import AUDITS, push_once
from leaderboard.board.columns import DEFAULT_SORT, FILE_COLUMNS, FILE_FIELDS, file_row, sorted_metrics
from leaderboard.board.rows import board_metrics, board_rows, visible_entries
from leaderboard.board.states import changes_of, every_board_changed
from leaderboard.models import AnswersFile
from leaderboard.sharing.answer_files.dictionary import licence, readme
from leaderboard.sharing.answer_files.lines import measured_lines, reported_lines
from submissions.csv_cells import as_cell, csv_line
from submissions.domain.scratch_folders import scratch_place
from submissions.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST_PAUSE: Final = timedelta(minutes=10)
"""Least time between two files, so that not each of many changes causes one."""
SECONDS: Final = 3600
_ROWS_AT_ONCE: Final = 500
_BOARDS: Final = [
    ("suite_version", "the suite's version"),
    ("kind", "ranked, or calibration (never ranked)"),
    ("category", "the category; empty for the whole board"),
]


def current(suite: Suite) -> AnswersFile | None:
    """Return the file of ``suite``, unless a row in it is no longer public. Two queries."""
    found = AnswersFile.objects.filter(suite=suite).first()
    return found if found and set(found.entries) <= _visible(suite) else None


def push_stale() -> int:
    """Queue a job for each suite whose file is missing or older than its data; return how many were added."""
    pushed = 0
    files = AnswersFile.objects.defer("entries").in_bulk()
    for suite in Suite.objects.filter(pk__in=visible_entries().order_by().values("suite_version__suite")):
        file = files.get(suite.pk)
        if file and file.changed == changes_of(suite.slug):
            continue
        if file and file.made > timezone.now() - LEAST_PAUSE and current(suite):
            continue
        job = "leaderboard.upkeep.jobs.write_answers"
        pushed += bool(push_once(AUDITS, job, suite.pk, job_id=f"answers-{suite.pk}", timeout=SECONDS))
    return pushed


def write_answers(suite: Suite) -> AnswersFile:
    """Write the file of ``suite`` and replace the previous one; downloads of that one under way can finish."""
    stored_at("files", "0" * 64)  # raises at once if nothing can be stored, rather than after minutes of writing
    # Before anything is read: a change in the meantime makes the file stale, not wrong.
    changed, entries = changes_of(suite.slug) or 0, _visible(suite)
    with scratch_folder(scratch_place()) as folder:
        path = folder / "answers.zip"
        answers = _write(path, suite, entries)
        size, digest = path.stat().st_size, put_file(path)
    facts = {
        "changed": changed,
        "entries": sorted(entries),
        "file": digest,
        "digest": digest,
        "size": size,
        "answers": answers,
        "made": timezone.now(),
    }
    made, first = AnswersFile.objects.update_or_create(suite=suite, defaults=facts)
    if first:
        every_board_changed()  # its board links to the file from now on
    return made


def _visible(suite: Suite) -> set[int]:
    return set(visible_entries().filter(suite_version__suite=suite).order_by().values_list("pk", flat=True))


def _write(path: Path, suite: Suite, entries: set[int]) -> int:
    """Write the archive and return its number of answers."""
    site = settings.ENVIRONMENT.site_address
    count = 0
    with zipfile.ZipFile(path, "x") as archive:
        archive.writestr(member("README.md"), readme(suite, _BOARDS, FILE_FIELDS))
        archive.writestr(member("LICENSE"), licence(suite, settings.ENVIRONMENT.data_licence))
        with archive.open(member("boards.csv"), "w", force_zip64=True) as file:
            file.writelines(line.encode() for line in _board_lines(suite, entries, site))
        with archive.open(member("answers.jsonl"), "w", force_zip64=True) as file:
            for lines in (measured_lines(suite, entries, site), reported_lines(suite, entries, site)):
                for line in lines:
                    file.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
                    count += 1
    return count


def _board_lines(suite: Suite, entries: set[int], site: str) -> Iterator[str]:
    yield csv_line([*(name for name, _ in _BOARDS), *FILE_COLUMNS])
    for version in suite.versions.order_by("number"):
        for category in (None, *categories_of(version)):
            metrics = sorted_metrics(board_metrics(version, category).filter(entry__in=entries), DEFAULT_SORT)
            ids = list(metrics.values_list("pk", flat=True))
            for first in range(0, len(ids), _ROWS_AT_ONCE):
                part = board_metrics(version, category).filter(pk__in=ids[first : first + _ROWS_AT_ONCE])
                for row in board_rows(sorted_metrics(part, DEFAULT_SORT), version, category):
                    kind = "calibration" if row.calibration else "ranked"
                    about = [version.number, kind, category.slug if category else None]
                    yield csv_line(map(as_cell, [*about, *file_row(row, site)]))
