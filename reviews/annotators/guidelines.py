"""Manage the labelling guidelines: current revision, comparison of revisions, confirmations of reading."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.db import IntegrityError, transaction

from reviews.exceptions import ReviewError
from reviews.models import GuidelineReading, GuidelineRevision
from submissions.comparison import side_by_side
from submissions.domain.audit import record
from submissions.enums import Verb
from submissions.exceptions import NotAllowedError
from submissions.markdown import Rendered, render

if TYPE_CHECKING:
    from reviews.models import Reviewer
    from submissions.comparison import Comparison
    from submissions.models import User

SHIPPED: Final = Path(__file__).resolve().parents[1] / "guidelines" / "guidelines.md"
LONGEST_TEXT: Final = 100_000
LONGEST_CHANGES: Final = 2_000


def current() -> GuidelineRevision:
    """Return the current revision. The first one is the shipped text, stored on first use."""
    found = GuidelineRevision.objects.first()
    if found is not None:
        return found
    try:
        with transaction.atomic():
            return GuidelineRevision.objects.create(
                number=1, text=_normalised(SHIPPED.read_text(encoding="utf-8")), changes="The first revision."
            )
    except IntegrityError:  # Another request stored it first.
        return GuidelineRevision.objects.latest("number")


@lru_cache(maxsize=16)
def rendered(text: str) -> Rendered:
    """Render guidelines as safe HTML."""
    return render(text)


def publish(*, actor: User, text: str, changes: str, made_from: int | None = None) -> GuidelineRevision:
    """Publish ``text`` as the next revision; ``changes`` describes what is new.

    ``made_from`` is the number of the revision that the text is based on. Raises :class:`NotAllowedError` for
    non-maintainers, :class:`ReviewError` for an empty or unchanged text, and if a newer revision was published.
    """
    if not actor.is_staff:
        msg = "Only maintainers may change the guidelines."
        raise NotAllowedError(msg)
    text, changes = _normalised(text), changes.strip()
    newest = current()
    if made_from is not None and made_from != newest.number:
        raise ReviewError(_newer_revision_message(newest.number, made_from))
    if not text.strip():
        msg = "The guidelines are empty. Enter their text."
        raise ReviewError(msg)
    if text == newest.text:
        msg = f"This is the text of revision {newest.number}, unchanged. Change something, or leave it as it is."
        raise ReviewError(msg)
    if not changes:
        msg = "Describe in a sentence what is new: annotators read this sentence first."
        raise ReviewError(msg)
    try:
        with transaction.atomic():
            made = GuidelineRevision.objects.create(
                number=newest.number + 1, text=text, changes=changes, created_by=actor
            )
            record(verb=Verb.GUIDELINE, subject=made, actor=actor, reason=changes)
    except IntegrityError as error:
        raise ReviewError(_newer_revision_message(newest.number + 1, newest.number)) from error
    return made


def acknowledge(reviewer: Reviewer, revision: GuidelineRevision | None = None) -> None:
    """Record that ``reviewer`` has read ``revision`` (default: the current one). Idempotent.

    Raises :class:`ReviewError` if that revision is no longer current.
    """
    newest = current()
    if revision is not None and revision.number != newest.number:
        msg = f"Revision {newest.number} has been published meanwhile. Read its changes."
        raise ReviewError(msg)
    GuidelineReading.objects.get_or_create(reviewer=reviewer, revision=newest)


def unread(reviewer: Reviewer) -> GuidelineRevision | None:
    """Return the current revision if ``reviewer`` has not confirmed reading it, else None."""
    newest = current()
    return None if GuidelineReading.objects.filter(reviewer=reviewer, revision=newest).exists() else newest


def last_read(reviewer: Reviewer) -> GuidelineRevision | None:
    """Return the newest revision that ``reviewer`` has read."""
    return GuidelineRevision.objects.filter(readings__reviewer=reviewer).order_by("-number").first()


def difference(old: str, new: str) -> Comparison:
    """Compare two texts line by line."""
    return side_by_side(old.rstrip("\n"), new.replace("\r\n", "\n").rstrip("\n"), languages=("", ""))


def _normalised(text: str) -> str:
    """Normalise line ends, which browsers change, and trailing blanks, so that they do not count as changes."""
    return (
        "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").strip().split("\n")) + "\n"
    )


def _newer_revision_message(newest: int, made_from: int) -> str:
    return (
        f"Revision {newest} was published while you edited revision {made_from}. Your text is kept below: "
        "add the changes of the new revision to it, then publish it again."
    )
