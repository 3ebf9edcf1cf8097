"""Say what an infrastructure error means: for maintainers, for everybody, and for the run that it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evaluator.queue.database import DATABASE_IS_AWAY
from evaluator.sandbox.types import DISK_IS_FULL, HOST_FAILED, SandboxError, SandboxUnavailableError, means_full
from evaluator.testing.sealed import GoldenError

BUG: Final = "an error of the evaluator"


@dataclass(frozen=True, slots=True)
class Fault:
    """``reason`` is for maintainers, ``public`` for everybody. ``everywhere``: no run could do better on this machine.

    ``is_bug`` asks for a traceback in the log.
    """

    reason: str
    public: str
    everywhere: bool = False
    is_bug: bool = False


def fault_of(error: Exception) -> Fault:
    """What ``error``, which ended an evaluation, is."""
    if isinstance(error, GoldenError):
        # It names private seeds and quotes the golden code: for the operator's log, never for a page.
        return Fault(
            "The task's reference could not be run; the worker's log says why.",
            "the task's reference could not be run",
            is_bug=True,
        )
    if isinstance(error, DATABASE_IS_AWAY):
        return Fault(f"The database did not answer: {error}", "the database did not answer", everywhere=True)
    if isinstance(error, OSError):
        if means_full(error):
            reason = f"The disk that DATA_DIR lies on is full, or its quota is used up: make room on it. ({error})"
            return Fault(reason, DISK_IS_FULL, everywhere=True)
        return Fault(f"The host failed: {error}", HOST_FAILED)
    if isinstance(error, SandboxError):
        everywhere = isinstance(error, SandboxUnavailableError) or error.public == DISK_IS_FULL
        return Fault(str(error), error.public, everywhere=everywhere)
    return Fault(f"The evaluator failed ({type(error).__name__}: {error}); see its log.", BUG, is_bug=True)
