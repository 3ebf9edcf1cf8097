"""Classify infrastructure errors: a reason for maintainers, a public one, and what they mean for the run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Final

from benchmark_tasks.domain.bucket import DamagedError, StorageUnavailableError
from evaluator.queue.database import DATABASE_IS_AWAY
from evaluator.sandbox.interface import DISK_IS_FULL, HOST_FAILED, SandboxError, SandboxUnavailableError, means_full
from evaluator.testing.golden import GoldenError

BUG: Final = "an error of the evaluator"


@dataclass(frozen=True, slots=True)
class InfrastructureError:
    """``reason`` is for maintainers, ``public`` for everyone. ``everywhere``: every run on this machine would fail.

    ``is_bug`` requests a traceback in the log.
    """

    reason: str
    public: str
    everywhere: bool = False
    is_bug: bool = False


def infrastructure_error_of(error: Exception) -> InfrastructureError:
    """Classify ``error``, which ended an evaluation."""
    if isinstance(error, GoldenError):
        # It names private seeds and quotes golden code: only for the operator's log, never for a page.
        return InfrastructureError(
            "The task's reference could not be run; see the worker's log.",
            "the task's reference could not be run",
            is_bug=True,
        )
    if isinstance(error, DATABASE_IS_AWAY):
        return InfrastructureError(
            f"The database did not answer: {error}", "the database did not answer", everywhere=True
        )
    if isinstance(error, StorageUnavailableError) and isinstance(error.__cause__, OSError):
        return infrastructure_error_of(error.__cause__)
    if isinstance(error, StorageUnavailableError):
        return InfrastructureError(str(error), error.public, everywhere=not isinstance(error, DamagedError))
    if isinstance(error, OSError):
        if means_full(error):
            reason = f"The disk of DATA_DIR is full, or its quota is used up: free some space on it. ({_first(error)})"
            return InfrastructureError(reason, DISK_IS_FULL, everywhere=True)
        return InfrastructureError(f"The host failed: {_first(error)}", HOST_FAILED)
    if isinstance(error, SandboxError):
        everywhere = isinstance(error, SandboxUnavailableError) or error.public == DISK_IS_FULL
        return InfrastructureError(str(error), error.public, everywhere=everywhere)
    return InfrastructureError(
        f"The evaluator failed ({type(error).__name__}: {error}); see its log.", BUG, is_bug=True
    )


def _first(error: OSError) -> str:
    """Return the text of ``error``; for a copied tree, that of the first file: each file has the same cause."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):
        _source, _target, text = error.args[0][0]
        return str(text)
    return str(error)
