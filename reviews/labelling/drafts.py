"""Store drafts of labels and decisions.

No input is lost: drafts outlive leases, and a tab or device cannot overwrite what another one saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from django.utils import timezone

from reviews.cases.holding import why_lost
from reviews.enums import LIVE, AssignmentState
from reviews.exceptions import LeaseLostError, StaleDraftError
from reviews.models import Assignment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_TRIES: Final = 5


def save_draft(*, assignment: Assignment, draft: Mapping[str, Any], version: int, active_seconds: float = 0) -> int:
    """Store ``draft`` if ``version`` is the stored one, and return its new version.

    ``active_seconds`` is the time since the last save in which the page was in use; at most the elapsed time counts,
    however many tabs are open. The stored draft may be sent again. Raises :class:`StaleDraftError` with the stored
    draft; :class:`LeaseLostError` if the item is no longer held, which still keeps the draft unless the label is
    locked.
    """
    stored = Assignment.objects.get(pk=assignment.pk)
    if stored.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(stored))
    is_new = stored.draft != draft
    if is_new and stored.draft_version != version:
        _refuse(stored)
    now = timezone.now()
    seconds = stored.active_seconds + counted_seconds(stored, active_seconds, now)
    if not _write(stored, draft, now, bump=is_new, active_seconds=seconds):
        _refuse(Assignment.objects.get(pk=stored.pk))
    assignment.refresh_from_db(fields=["draft", "draft_version", "draft_saved", "active_seconds", "state"])
    if assignment.state not in LIVE:
        raise LeaseLostError(why_lost(assignment))
    return assignment.draft_version


def keep(assignment: Assignment, typed: Mapping[str, Any]) -> None:
    """Store input that could not be locked or decided in the draft, overwriting it."""
    for _ in range(_TRIES):
        stored = Assignment.objects.get(pk=assignment.pk)
        draft = {**stored.draft, **typed}
        if draft == stored.draft or _write(stored, draft, timezone.now()):
            return


def counted_seconds(assignment: Assignment, active_seconds: float, now: datetime) -> int:
    """Return the active seconds that count: at most the time elapsed since the last save."""
    passed = (now - (assignment.draft_saved or assignment.created)).total_seconds()
    return round(max(0, min(active_seconds, passed)))


def _write(stored: Assignment, draft: Mapping[str, Any], now: datetime, *, bump: bool = True, **fields: Any) -> bool:
    """Store the draft unless another request changed it first; return whether it was stored."""
    rows = Assignment.objects.filter(pk=stored.pk, draft_version=stored.draft_version)
    version = stored.draft_version + bump
    return bool(
        rows.exclude(state=AssignmentState.DONE).update(draft=draft, draft_version=version, draft_saved=now, **fields)
    )


def _refuse(stored: Assignment) -> NoReturn:
    if stored.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(stored))
    msg = "Another tab or device has saved newer text. Choose which to keep."
    raise StaleDraftError(msg, draft=stored.draft, version=stored.draft_version)
