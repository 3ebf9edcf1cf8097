"""Exceptions for refused actions. Their messages are shown to users."""

from __future__ import annotations


class SubmissionError(Exception):
    """Base of the app's refusals."""


class QuotaExceededError(SubmissionError):
    """The user has reached a limit, such as submissions per day."""


class NotAllowedError(SubmissionError):
    """The user may not do this."""


class WrongStateError(SubmissionError):
    """The submission's state does not allow this."""


class SuiteNotOpenError(SubmissionError):
    """The suite accepts no submissions now."""


class OrganisationRefusedError(NotAllowedError):
    """The account may not use the name of a registered organisation. ``errors`` are by field, for forms."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.errors = {"organisation": message}
