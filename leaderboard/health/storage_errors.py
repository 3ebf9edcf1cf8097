"""Distinguish errors of the storage from others, so that users see that nothing was wrong with what they sent."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from django.db import DatabaseError

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.content import ContentMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_SQLITE_IS_FULL: Final = "database or disk is full"
_POSTGRESQL_IS_FULL: Final = "53100"


def means_full(error: BaseException | None) -> bool:
    """Return whether ``error``, or an error that caused it, means that no disk space is left."""
    return any(map(_is_disk_full, _causes(error)))


def means_unreadable(error: BaseException | None) -> bool:
    """Return whether ``error``, or a cause, means that the content store does not answer or lacks a file."""
    while error is not None and not isinstance(error, StorageUnavailableError | ContentMissingError):
        error = error.__cause__
    return error is not None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_disk_full(error: BaseException) -> bool:
    if isinstance(error, DatabaseError):
        return _SQLITE_IS_FULL in str(error)
    return getattr(error, "sqlstate", "") == _POSTGRESQL_IS_FULL or getattr(error, "errno", None) in _FULL
