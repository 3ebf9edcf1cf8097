"""The guidelines that labels follow: what is in force, how revisions differ, and who has read which."""

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
    """The revision in force. The first one is what is shipped, stored when it is first asked for."""
    found = GuidelineRevision.objects.first()
    if found is not None:
        return found
    try:
        with transaction.atomic():
            return GuidelineRevision.objects.create(
                number=1, text=_tidied(SHIPPED.read_text(encoding="utf-8")), changes="The first revision."
            )
    except IntegrityError:  # Somebody else asked at the same time.
        return GuidelineRevision.objects.latest("number")


@lru_cache(maxsize=16)
def rendered(text: str) -> Rendered:
    """Guidelines as safe HTML."""
    return render(text)


def publish(*, actor: User, text: str, changes: str, made_from: int | None = None) -> GuidelineRevision:
    """Put ``text`` in force as the next revision; ``changes`` says what is new.

    ``made_from`` is the number that the text was made from. Raises :class:`NotAllowedError` for who is no maintainer,
    :class:`ReviewError` for a text that is empty or unchanged, and when a newer revision has come out meanwhile.
    """
    if not actor.is_staff:
        msg = "Only maintainers change the guidelines."
        raise NotAllowedError(msg)
    text, changes = _tidied(text), changes.strip()
    newest = current()
    if made_from is not None and made_from != newest.number:
        raise ReviewError(_overtaken(newest.number, made_from))
    if not text.strip():
        msg = "The guidelines are empty. Type their text."
        raise ReviewError(msg)
    if text == newest.text:
        msg = f"This is the text of revision {newest.number}, unchanged. Change something, or leave it as it is."
        raise ReviewError(msg)
    if not changes:
        msg = "Say in a sentence what is new: reviewers read it first."
        raise ReviewError(msg)
    try:
        with transaction.atomic():
            made = GuidelineRevision.objects.create(
                number=newest.number + 1, text=text, changes=changes, created_by=actor
            )
            record(verb=Verb.GUIDELINE, subject=made, actor=actor, reason=changes)
    except IntegrityError as error:
        raise ReviewError(_overtaken(newest.number + 1, newest.number)) from error
    return made


def acknowledge(reviewer: Reviewer, revision: GuidelineRevision | None = None) -> None:
    """Store that ``reviewer`` has read ``revision``, by default the one in force. Twice is as good as once.

    Raises :class:`ReviewError` when that revision is not in force any more.
    """
    newest = current()
    if revision is not None and revision.number != newest.number:
        msg = f"Revision {newest.number} has come out meanwhile. Read what it changes."
        raise ReviewError(msg)
    GuidelineReading.objects.get_or_create(reviewer=reviewer, revision=newest)


def unread(reviewer: Reviewer) -> GuidelineRevision | None:
    """The revision in force if ``reviewer`` has not said to have read it."""
    newest = current()
    return None if GuidelineReading.objects.filter(reviewer=reviewer, revision=newest).exists() else newest


def last_read(reviewer: Reviewer) -> GuidelineRevision | None:
    """The newest revision that ``reviewer`` has read."""
    return GuidelineRevision.objects.filter(readings__reviewer=reviewer).order_by("-number").first()


def difference(old: str, new: str) -> Comparison:
    """How two texts differ, line by line."""
    return side_by_side(old.rstrip("\n"), new.replace("\r\n", "\n").rstrip("\n"), languages=("", ""))


def _tidied(text: str) -> str:
    """Browsers send other line ends than files have; neither those nor blanks at the end are a change."""
    return (
        "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").strip().split("\n")) + "\n"
    )


def _overtaken(newest: int, made_from: int) -> str:
    return (
        f"Revision {newest} came out while you wrote from revision {made_from}. Your text is kept below: "
        "put into it what the new revision changes, then publish it again."
    )
