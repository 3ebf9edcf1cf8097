"""The one clock that all hosts share: the database's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

if TYPE_CHECKING:
    from datetime import datetime

TOLERATED_SECONDS: Final = 2.0
"""Two clocks that differ by more are worth a warning."""


def database_now() -> Any:
    """Return now by the database's clock, for filters and updates: a host whose own clock is wrong changes nothing.

    SQLite has no clock of its own: its database serves one host.
    """
    return timezone.now() if connection.vendor == "sqlite" else Now()


def seconds_ahead() -> float:
    """Return by how many seconds this host's clock is ahead of the database's, within the time of one query."""
    if connection.vendor == "sqlite":
        return 0.0
    return (timezone.now() - server_time()).total_seconds()


def server_time() -> datetime:
    """Return the time of PostgreSQL's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cast("datetime", cursor.fetchone()[0])
