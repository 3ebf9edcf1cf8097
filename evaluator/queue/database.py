"""Store results that were expensive to get: retry while the database is away, and make untrusted text storable."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

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
# PostgreSQL stores neither in text nor in JSON; models and hostile servers send both.
_NOT_STORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def retry(act: Callable[[], _Result], *, seconds: float = RETRY_SECONDS) -> _Result:
    """Call ``act``, with backoff for up to ``seconds`` while the database does not answer, and return its result.

    ``act`` must be a whole, repeatable transaction: it runs twice when the answer to a commit is lost.
    """
    deadline, pause = time.monotonic() + seconds, 0.1
    while True:
        try:
            return act()
        except DATABASE_IS_AWAY as error:
            if connection.in_atomic_block or time.monotonic() + pause > deadline:
                raise
            log.warning("database_away", error=str(error))
            # Django keeps a broken connection; close it so that a new one is opened.
            connection.close()
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def storable_text(text: str) -> str:
    """Replace each NUL and each lone surrogate in ``text`` by the replacement character."""
    return _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def storable(data: Any) -> Any:
    """Apply :func:`storable_text` to all texts of parsed JSON, keys included."""
    if isinstance(data, str):
        return storable_text(data)
    if isinstance(data, dict):
        return {storable_text(str(key)): storable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [storable(value) for value in data]
    return data
