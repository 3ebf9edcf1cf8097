"""What was typed and is not locked yet.

Nothing typed is lost: drafts outlive leases, and a tab or device cannot overwrite what another one has saved.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NoReturn

from django.utils import timezone

from evaluator.queue.storable import storable
from reviews.enums import LIVE, AssignmentState, Confidence, ReasonCode
from reviews.exceptions import LabelError, LeaseLostError, StaleDraftError
from reviews.labelling.findings import (
    LABELS,
    LONGEST_NOTE,
    clean_text,
    draft_findings,
    whole_number,
)
from reviews.labelling.holding import why_lost
from reviews.models import Assignment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

LONGEST_VIEW: Final = 1_000
LAST_PAGE: Final = 100_000

_FIELDS: Final = ("label", "confidence", "findings", "note", "paper_page", "view", "reasons")
_TRIES: Final = 5


def save_draft(*, assignment: Assignment, draft: object, version: int, active_seconds: float = 0) -> int:
    """Store ``draft`` if ``version`` is the stored one, and answer its new version.

    ``active_seconds`` is the time since the last save in which the page was used; no more of it counts than has passed
    since, however many tabs are open. A save whose answer was lost may be sent again. Raises :class:`LabelError`;
    :class:`StaleDraftError` with what is stored; :class:`LeaseLostError` when the item is not held any more, in which
    case the draft is kept all the same, unless the label is locked.
    """
    cleaned = clean_draft(draft)
    stored = Assignment.objects.get(pk=assignment.pk)
    if stored.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(stored))
    if stored.draft_version == version + 1 and stored.draft == cleaned:
        saved = stored.draft_version
    elif stored.draft_version == version:
        saved = _store(stored, cleaned, active_seconds)
    else:
        _refuse(stored)
    assignment.refresh_from_db(fields=["draft", "draft_version", "draft_saved", "active_seconds", "state"])
    if assignment.state not in LIVE:
        raise LeaseLostError(why_lost(assignment))
    return saved


def clean_draft(draft: object) -> dict[str, Any]:
    """A draft as it may be stored: every field optional, texts as they were typed.

    ``label``, ``confidence`` (1 to 3, or empty), ``findings`` (lines may be anything short), ``note``, ``paper_page``,
    ``view`` (the page's options, any small JSON) and an adjudicator's ``reasons``. Raises :class:`LabelError`.
    """
    if not isinstance(draft, dict):
        raise LabelError({"draft": "The draft cannot be read. Reload the page; what was saved before is kept."})
    unknown = sorted(ascii(field)[:40] for field in draft if field not in _FIELDS)
    errors = {"draft": f"The draft has fields that are not known: {', '.join(unknown)[:200]}."} if unknown else {}
    if draft.get("label", "") not in ("", *LABELS):
        errors["label"] = "The label is none of those that there are."
    reasons = draft.get("reasons", [])
    if not isinstance(reasons, list) or any(reason not in ReasonCode.values for reason in reasons):
        errors["reasons"] = "The reasons are none of those that there are."
    if draft.get("confidence") not in (None, "") and whole_number(draft["confidence"]) not in Confidence.values:
        errors["confidence"] = "The confidence is none of those that there are."
    page = draft.get("paper_page")
    if page is not None and not 1 <= (whole_number(page) or 0) <= LAST_PAGE:
        errors["paper_page"] = "The paper's page is not a page number."
    cleaned = dict(draft)
    try:
        clean_text(draft.get("note", ""), longest=LONGEST_NOTE)
    except ValueError as error:
        errors["note"] = f"The note {error}"
    try:
        cleaned["findings"] = draft_findings(draft.get("findings", []))
    except LabelError as error:
        errors |= error.errors
    if not _is_small(draft.get("view", {})):
        errors["view"] = "The page's options cannot be kept."
    if errors:
        raise LabelError(errors)
    return cleaned


def keep(assignment: Assignment, typed: Mapping[str, Any]) -> None:
    """Put what could not be locked or decided into the draft, over whatever is there."""
    for _ in range(_TRIES):
        stored = Assignment.objects.get(pk=assignment.pk)
        draft = {**stored.draft, **typed}
        if draft == stored.draft or _write(stored, draft, timezone.now()):
            return


def counted_seconds(assignment: Assignment, active_seconds: float, now: datetime) -> int:
    """How much of an increment of active time counts: no more than has passed since the last save."""
    passed = (now - (assignment.draft_saved or assignment.created)).total_seconds()
    # Not a number compares as neither.
    return round(min(active_seconds, passed)) if active_seconds > 0 and passed > 0 else 0


def _store(stored: Assignment, draft: dict[str, Any], active_seconds: float) -> int:
    now = timezone.now()
    seconds = stored.active_seconds + counted_seconds(stored, active_seconds, now)
    if not _write(stored, draft, now, active_seconds=seconds):
        _refuse(Assignment.objects.get(pk=stored.pk))
    return stored.draft_version + 1


def _write(stored: Assignment, draft: dict[str, Any], now: datetime, **fields: Any) -> bool:
    """Store the next version unless somebody was faster; say whether it was stored."""
    rows = Assignment.objects.filter(pk=stored.pk, draft_version=stored.draft_version)
    rows = rows.exclude(state=AssignmentState.DONE)
    return bool(rows.update(draft=draft, draft_version=stored.draft_version + 1, draft_saved=now, **fields))


def _refuse(stored: Assignment) -> NoReturn:
    if stored.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(stored))
    msg = "Another tab or device has saved newer text. Choose which to keep."
    raise StaleDraftError(msg, draft=stored.draft, version=stored.draft_version)


def _is_small(view: object) -> bool:
    """Whether the page's options are JSON that every database takes, and short."""
    try:
        short = len(json.dumps(view, allow_nan=False)) <= LONGEST_VIEW
        return short and isinstance(view, dict) and bool(storable(view) == view)
    except (TypeError, ValueError, RecursionError):
        return False
