"""Compare a snapshot with the current board. The differences are computed at each request and never stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmark_tasks.domain.queries import current_version
from leaderboard.board.columns import FILE_COLUMNS, file_row
from leaderboard.board.entries import COUNTING
from leaderboard.board.labels import shown_judge
from leaderboard.board.matrix import results_on, tasks_of
from leaderboard.board.rows import METRIC_PARTS, board_metrics, board_row, flagged_tasks, visible_entries
from leaderboard.models import EntryMetric
from leaderboard.sharing.snapshots.document import rows_of
from leaderboard.sharing.snapshots.document import tasks_of as frozen_tasks
from reviews.models import GuidelineRevision
from submissions.enums import Verb, Visibility
from submissions.models import AuditEvent, Submission

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from leaderboard.board.row import BoardRow
    from leaderboard.models import Snapshot

_NO_CORRECTION: Final = {"rank_from", "rank_to", "date", "provenance", "source", "address"}
"""Columns whose changes are no corrections: every new row may change ranks, publishing a row again its date."""
_CAUSES: Final = (Verb.REEVALUATED, Verb.CORRECTED, Verb.DECIDED, Verb.LABELS_IMPORTED)
_REMOVALS: Final = (Verb.WITHDRAWN, Verb.HIDDEN)


@dataclass(frozen=True, slots=True)
class Gone:
    """A frozen row that is no longer published: only its submission's number and the public reason.

    ``page`` is whether the submission's page shows the same.
    """

    key: str
    submission: int | None
    what: str
    page: bool = False
    reason: str = ""
    when: datetime | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """An audit event that may explain a correction."""

    when: datetime
    done: str
    reason: str


@dataclass(frozen=True, slots=True)
class Corrected:
    """A row whose results changed: (column, before, now), tasks with changed marks, causes, and its new version."""

    row: BoardRow
    columns: tuple[tuple[str, Any, Any], ...]
    tasks: tuple[str, ...]
    causes: tuple[Cause, ...]
    moved_to: int | None


@dataclass(frozen=True, slots=True)
class Changes:
    """All differences. ``around`` has (name, before, now) of judge, guidelines, suite, flagged tasks, counting."""

    corrected: tuple[Corrected, ...]
    gone: tuple[Gone, ...]
    around: tuple[tuple[str, str, str], ...]
    new_rows: int

    @property
    def any(self) -> bool:
        """Whether anything differs except new rows."""
        return bool(self.corrected or self.gone or self.around)


def gone_since(snapshot: Snapshot) -> list[Gone]:
    """List the rows, and submissions counted in the agreement, that are no longer public. At most three queries."""
    frozen = rows_of(snapshot.document)
    numbers = {row.submission for row in frozen if row.submission} | set(snapshot.document["agreement_of"])
    found = {
        each.pk: each for each in Submission.objects.filter(pk__in=numbers).only("visibility", "visibility_reason")
    }
    hidden = sorted(
        number for number in numbers if number not in found or found[number].visibility != Visibility.PUBLISHED
    )
    newest = {event.subject_id: event.created for event in reversed(_events(hidden, _REMOVALS))}
    gone = [_gone(number, found.get(number), newest.get(str(number))) for number in hidden]
    slugs = [row.key.removeprefix("r-") for row in frozen if row.reported]
    shown = set(visible_entries().filter(reported_run__slug__in=slugs).values_list("reported_run__slug", flat=True))
    return gone + [Gone(f"r-{slug}", None, "was removed") for slug in slugs if slug not in shown]


def _gone(number: int, submission: Submission | None, when: datetime | None) -> Gone:
    if submission is None:
        return Gone(f"s{number}", number, "was deleted")
    if submission.visibility == Visibility.PRIVATE:
        return Gone(f"s{number}", number, "is no longer published")
    what = f"was {submission.get_visibility_display()}"
    return Gone(f"s{number}", number, what, page=True, reason=submission.visibility_reason, when=when)


def changes_since(snapshot: Snapshot, gone: Sequence[Gone]) -> Changes:
    """Compare a snapshot with what is public now. The number of queries does not grow with rows."""
    frozen = rows_of(snapshot.document)
    away = {each.key for each in gone}
    now = _rows_now(frozen)
    places = {task.slug: task for task in frozen_tasks(snapshot.document)}
    columns = [name for name in FILE_COLUMNS if name in snapshot.document["columns"] and name not in _NO_CORRECTION]
    found: list[tuple[BoardRow, BoardRow, list[tuple[str, Any, Any]], tuple[str, ...], int | None]] = []
    for row in frozen:
        if row.key in away or row.key not in now:
            continue
        today, version = now[row.key]
        was, is_now = (dict(zip(FILE_COLUMNS, file_row(each, ""), strict=True)) for each in (row, today))
        differing = [(name, was[name], is_now[name]) for name in columns if was[name] != is_now[name]]
        moved = None if version == snapshot.suite_version_id else version
        tasks = tuple(
            slug for slug, task in places.items() if moved is None and results_on(row, task) != results_on(today, task)
        )
        if differing or tasks or moved:
            found.append((row, today, differing, tasks, moved))
    causes = _causes([row.submission for row, *_ in found if row.submission], snapshot.created)
    numbers = dict(snapshot.suite.versions.values_list("pk", "number"))
    keys = {row.key for row in frozen}
    return Changes(
        corrected=tuple(
            Corrected(row, tuple(differing), tasks, tuple(causes.get(row.submission or 0, ())), numbers.get(moved or 0))
            for row, _, differing, tasks, moved in found
        ),
        gone=tuple(each for each in gone if each.key in keys),
        around=tuple(_around(snapshot)),
        new_rows=_new_rows(snapshot, frozen),
    )


def _rows_now(frozen: Iterable[BoardRow]) -> dict[str, tuple[BoardRow, int]]:
    """Return key -> the row as it is now, on its current suite version, and that version's id. One query."""
    submissions = [row.submission for row in frozen if row.submission]
    reported = [row.key.removeprefix("r-") for row in frozen if row.reported]
    shown = visible_entries().filter(submission__in=submissions) | visible_entries().filter(
        reported_run__slug__in=reported
    )
    metrics = EntryMetric.objects.filter(category=None, entry__in=shown).select_related(*METRIC_PARTS)
    rows = ((board_row(each.entry, each, 0), each.entry.suite_version_id) for each in metrics)
    return {row.key: (row, version) for row, version in rows}


def _new_rows(snapshot: Snapshot, frozen: Sequence[BoardRow]) -> int:
    now = board_metrics(snapshot.suite_version)
    submissions = [row.submission for row in frozen if row.submission]
    reported = [row.key.removeprefix("r-") for row in frozen if row.reported]
    before = now.filter(entry__submission__in=submissions) | now.filter(entry__reported_run__slug__in=reported)
    return now.count() - before.count()


def _events(submissions: Collection[int], verbs: Sequence[Verb]) -> list[AuditEvent]:
    """List the audit events of submissions with these verbs, newest first."""
    numbers = list(map(str, submissions))
    return list(AuditEvent.objects.filter(subject_kind="submission", subject_id__in=numbers, verb__in=verbs))


def _causes(submissions: Collection[int], since: datetime) -> dict[int, list[Cause]]:
    causes: dict[int, list[Cause]] = {}
    for event in _events(submissions, _CAUSES):
        if event.created > since:
            cause = Cause(event.created, event.get_verb_display(), event.reason)
            causes.setdefault(int(event.subject_id), []).append(cause)
    return causes


def _around(snapshot: Snapshot) -> Iterable[tuple[str, str, str]]:
    document, version = snapshot.document, snapshot.suite_version
    judge, was = shown_judge(snapshot.suite_id), document["judge"]
    if (judge and judge.digest) != (was and was["digest"]):
        yield (
            "Judge",
            f"{was['name']}, digest {was['digest'][:12]}" if was else "none",
            f"{judge.name}, digest {judge.digest[:12]}" if judge else "none",
        )
    guidelines, before = GuidelineRevision.objects.first(), document["guidelines"]
    if (guidelines and guidelines.number) != (before and before["number"]):
        yield (
            "Annotators' guidelines",
            f"revision {before['number']}" if before else "none",
            f"revision {guidelines.number}" if guidelines else "none",
        )
    newest = current_version(snapshot.suite)
    if newest is not None and newest.pk != version.pk:
        old, new = {task.slug for task in frozen_tasks(document)}, {task.slug for task in tasks_of(newest)}
        differing = [
            f"{word}: {', '.join(sorted(names))}"
            for word, names in (("with", new - old), ("without", old - new))
            if names
        ]
        yield "Suite", f"version {version.number}", "; ".join([f"version {newest.number}", *differing])
    flagged = sorted(flagged_tasks(version.pk, None))
    if flagged != document["flagged"]:
        yield "Tasks in doubt", ", ".join(document["flagged"]) or "none", ", ".join(flagged) or "none"
    if document["counting"] != COUNTING:
        yield "Counting rules", str(document["counting"]), str(COUNTING)
