"""Check what a reviewer must do before the first item, and again after changes of the guidelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from django.urls import reverse

from reviews.annotators import guidelines, practice
from reviews.exceptions import NotReadyError

if TYPE_CHECKING:
    from reviews.enums import Role
    from reviews.models import Reviewer


class Missing(NamedTuple):
    """A step to do first. ``name`` identifies it; ``address`` is its page."""

    name: str
    sentence: str
    address: str


class MissingStepError(NotReadyError):
    """A step is missing; ``address`` is its page."""

    def __init__(self, message: str, *, address: str) -> None:
        super().__init__(message)
        self.address = address


def missing_steps(reviewer: Reviewer) -> list[Missing]:
    """Return the steps before the next item, in order; empty if the reviewer is ready."""
    missing = []
    if not reviewer.affiliation:
        sentence = "Complete your profile: where you work, and whose answers you must not label."
        missing.append(Missing("profile", sentence, reverse("review_profile")))
    if step := unread_guidelines(reviewer):
        missing.append(step)
    if left := practice.remaining(reviewer):
        sentence = f"Label {left} practice item{'' if left == 1 else 's'} with known answers."
        missing.append(Missing("practice", sentence, reverse("reviews")))
    return missing


def unread_guidelines(reviewer: Reviewer) -> Missing | None:
    """Return the step of reading the current guidelines, or their changes since the last reading; None if read."""
    revision = guidelines.unread(reviewer)
    if revision is None:
        return None
    before = guidelines.last_read(reviewer)
    if before is None:
        return Missing("guidelines", "Read the guidelines.", reverse("review_guidelines"))
    sentence = f"The guidelines have changed: read what is new in revision {revision.number}."
    address = reverse("review_guideline", args=[revision.number])
    return Missing("guidelines", sentence, f"{address}?since={before.number}")


def require_ready(reviewer: Reviewer, role: Role) -> None:
    """Raise :class:`MissingStepError`, with the page to visit, if the reviewer may not label in this role now."""
    if not reviewer.active or role not in reviewer.roles:
        msg = f"You are not {'an active' if not reviewer.active else 'an'} {role.label}. Ask a maintainer."
        raise MissingStepError(msg, address=reverse("reviews"))
    missing = missing_steps(reviewer)
    if missing:
        raise MissingStepError(missing[0].sentence, address=missing[0].address)
