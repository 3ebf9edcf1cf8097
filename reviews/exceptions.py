"""Exceptions of reviewing. Their messages explain the problem and what to do."""

from __future__ import annotations

from submissions.exceptions import SubmissionError


class ReviewError(SubmissionError):
    """Base of errors shown to reviewers and maintainers."""


class NotReadyError(ReviewError):
    """A reviewer must do something first: read the guidelines, or finish the practice round."""


class LeaseLostError(ReviewError):
    """The assignment is no longer held: it expired, was handed back, or its case was voided. Drafts are kept."""


class StaleDraftError(ReviewError):
    """Another tab or device has saved a newer draft. ``draft`` and ``version`` are the stored ones."""

    def __init__(self, message: str, *, draft: dict[str, object], version: int) -> None:
        super().__init__(message)
        self.draft = draft
        self.version = version


class IncompleteError(ReviewError):
    """The input is incomplete or invalid. ``errors`` maps each field to a sentence."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors
