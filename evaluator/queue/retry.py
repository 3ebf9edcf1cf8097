"""Retry while the database is away: what took long to measure must not be lost for one lost moment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

import structlog
from django.db import connection
from django.db.utils import InterfaceError, OperationalError

if TYPE_CHECKING:
    from collections.abc import Callable

log = structlog.get_logger(__name__)
DATABASE_IS_AWAY = (OperationalError, InterfaceError)
RETRY_SECONDS = 120.0
LONGEST_PAUSE_SECONDS = 5.0
_Result = TypeVar("_Result")


def retry(act: Callable[[], _Result], *, seconds: float = RETRY_SECONDS) -> _Result:
    """Call ``act``, with backoff for up to ``seconds`` while the database does not answer, and return its result.

    ``act`` must be a whole transaction that may be repeated: when the answer to a commit is lost, it is done twice.
    """
    deadline, pause = time.monotonic() + seconds, 0.1
    while True:
        try:
            return act()
        except DATABASE_IS_AWAY as error:
            if connection.in_atomic_block or time.monotonic() + pause > deadline:
                raise
            log.warning("database_away", error=str(error))
            # What Django keeps of a broken connection stays broken.
            connection.close()
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
