"""Renewing a lease from a thread of its own while the work is done, and noticing when the claim is lost."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Self

import structlog
from django.conf import settings
from django.db import close_old_connections, connection

from evaluator.queue.retry import DATABASE_IS_AWAY

if TYPE_CHECKING:
    from collections.abc import Callable

log = structlog.get_logger(__name__)

LONGEST_PAUSE_SECONDS: Final = 2.0
"""Cancelling must reach a box within five seconds, however long the lease is."""


class Heartbeat:
    """Calls ``renew`` until it answers false, which means that the claim is lost, or the work is done."""

    def __init__(self, renew: Callable[[], bool], *, name: str) -> None:
        self._renew = renew
        self._stop = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def lost(self) -> bool:
        """Whether the work was cancelled, paused or given to another worker; a sandbox asks, and kills the box."""
        return self._lost.is_set()

    def _beat(self) -> None:
        pause = min(settings.ENVIRONMENT.lease_seconds / 3, LONGEST_PAUSE_SECONDS)
        try:
            while not self._stop.wait(pause):
                close_old_connections()
                try:
                    if not self._renew():
                        self._lost.set()
                        return
                except DATABASE_IS_AWAY as error:
                    # The database is away: go on with the work, the lease itself decides when it is back.
                    log.warning("heartbeat_failed", error=str(error))
        finally:
            connection.close()
