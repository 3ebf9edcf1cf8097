"""The page for an internal error, and another for a full disk."""

from __future__ import annotations

import errno
import re
import sys
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from django.db import DatabaseError
from django.shortcuts import render
from django.views import defaults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpRequest, HttpResponse

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_SQLITE_IS_FULL: Final = "database or disk is full"
_POSTGRESQL_IS_FULL: Final = "53100"
_SECRET: Final = re.compile(r"password|token|key", re.IGNORECASE)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's page, or with status 507 one that says that the disk is full and repeats what was typed."""
    if not any(map(_means_full, _causes(sys.exc_info()[1]))):
        return defaults.server_error(request)
    typed = [(name, value) for name, value in request.POST.items() if value and not _SECRET.search(name)]
    return render(None, "507.html", {"typed": typed}, status=HTTPStatus.INSUFFICIENT_STORAGE)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _means_full(error: BaseException) -> bool:
    if isinstance(error, DatabaseError):
        return _SQLITE_IS_FULL in str(error)
    return getattr(error, "sqlstate", "") == _POSTGRESQL_IS_FULL or getattr(error, "errno", None) in _FULL
