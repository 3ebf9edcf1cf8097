"""What can go wrong in this room. Each message says what, and what to do."""

from __future__ import annotations

from submissions.exceptions import SubmissionError


class ReviewError(SubmissionError):
    """Anything that a reviewer, or whoever manages reviewing, may meet."""


class NotReadyError(ReviewError):
    """A reviewer has to do something first: read the guidelines, or finish the practice round."""


class LeaseLostError(ReviewError):
    """The assignment is not held any more: it expired, was handed back, or its case was voided. Drafts are kept."""


class StaleDraftError(ReviewError):
    """Another tab or device has saved a newer draft. ``draft`` and ``version`` are what is stored."""

    def __init__(self, message: str, *, draft: dict[str, object], version: int) -> None:
        super().__init__(message)
        self.draft = draft
        self.version = version


class IncompleteError(ReviewError):
    """What was typed is incomplete or wrong. ``errors`` maps each field to a sentence."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors
