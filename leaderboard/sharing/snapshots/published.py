"""Find a frozen board, and return its archive without rows that were withdrawn later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import get_object_or_404

from benchmark_tasks.domain.content import file_path
from leaderboard.board.caching import keep
from leaderboard.board.visibility import AnswerClosedError, closed
from leaderboard.models import Snapshot
from leaderboard.sharing.snapshots.archive import archive_of
from leaderboard.sharing.snapshots.changes import gone_since
from leaderboard.sharing.snapshots.document import rows_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from django.http import HttpRequest


def archive_response(shown: Snapshot) -> HttpResponse:
    """Return the archive as a file."""
    response = HttpResponse(
        archive_bytes(shown, {each.key for each in gone_since(shown)}), content_type="application/zip"
    )
    response["Content-Disposition"] = f'attachment; filename="{shown.suite.slug}-snapshot-{shown.number}.zip"'
    response["Cache-Control"] = "private, no-cache"
    return response


def archive_bytes(shown: Snapshot, gone: Collection[str]) -> bytes:
    """Return the archive without the rows ``gone``; without any, as it was stored."""
    if not gone:
        return file_path(shown.archive).read_bytes()
    return keep(lambda: archive_of(shown, without=gone), "archive", shown.pk, sorted(gone))


def requested_snapshot(request: HttpRequest, suite: str, number: int) -> Snapshot:
    """Return the snapshot with this number.

    Raises Http404, and :class:`AnswerClosedError` if it contains a submission that is hidden from the viewer: a frozen
    board, its agreement and its digests cannot leave one out.
    """
    stored = Snapshot.objects.select_related("suite", "suite_version", "superseded_by", "supersedes")
    shown = get_object_or_404(stored, suite__slug=suite, number=number)
    held = closed(request)
    inside = {row.submission for row in rows_of(shown.document)} | set(shown.document["agreement_of"]) if held else ()
    if found := [each for each in held if each.case.implementation.submission_id in inside]:
        raise AnswerClosedError(found)
    return shown
