"""What the site's retention has removed, and how pages say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import TextChoices

from submissions.domain.audit import history
from submissions.enums import Verb

if TYPE_CHECKING:
    from datetime import datetime

    from submissions.models import Submission

REMOVED: Final = "Removed on"
_KEY: Final = "removed-"


class Part(TextChoices):
    """What has a limit of its own."""

    UPLOADS = "uploads", "uploaded file"
    TRAJECTORIES = "trajectories", "trajectories"
    REPLIES = "replies", "requests to models with their replies"


def note(when: datetime) -> str:
    """Return the sentence that replaces what was removed."""
    return f"{REMOVED} {when:%Y-%m-%d} by this site's retention."


def removed_call(key: str) -> str:
    """Return the key of a call whose bodies were removed, at most 64 characters."""
    return f"{_KEY}{key}"[:64]


def upload_removed(submission: Submission) -> str:
    """Return when the uploaded file of a submission was removed, as a sentence; empty if it was not. One query."""
    for event in history(submission).filter(verb=Verb.REMOVED):
        if Part.UPLOADS in event.data:
            return note(event.created)
    return ""
