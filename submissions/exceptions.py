"""Refusals of this room. Every message is written for the person who reads it."""

from __future__ import annotations


class SubmissionError(Exception):
    """Base of this room's refusals."""


class QuotaExceededError(SubmissionError):
    """The person has no submission left today."""


class NotAllowedError(SubmissionError):
    """The person may not do this."""


class WrongStateError(SubmissionError):
    """The submission is not in a state in which this can be done."""


class SuiteNotOpenError(SubmissionError):
    """The suite takes no submissions now."""
