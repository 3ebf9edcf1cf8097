"""What is wrong with the database, said for the person at the command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.db.utils import OperationalError

if TYPE_CHECKING:
    from django.db.utils import DatabaseError

# SQLite's words; PostgreSQL has a code for each: undefined_table, undefined_column.
_NO_TABLE = re.compile(r"no such (table|column)|has no column named")
_NO_TABLE_CODES = {"42P01", "42703"}
_UNUSABLE = re.compile(
    r"unable to open|readonly database|is locked|disk is full|disk I/O error|not a database|malformed"
)


def explained(error: DatabaseError) -> str:
    """One line for the fault and what to do about it; empty for an error of the program's own."""
    text = " ".join(str(error).split())
    code = getattr(error.__cause__, "sqlstate", "")
    if code in _NO_TABLE_CODES or _NO_TABLE.search(text):
        # PostgreSQL goes on with an excerpt of the query.
        what = str(error).splitlines()[0]
        return f"The database is not set up, or not up to date ({what}). Run make setup (or manage.py setup) first."
    # A connection that could not be made, or was lost, has no code, or one of the classes 08, 53, 57 and 28.
    unreachable = isinstance(error, OperationalError) and hasattr(error.__cause__, "sqlstate")
    if unreachable or _UNUSABLE.search(text):
        return (
            f"The database cannot be used: {text}. Start or repair it, or correct DATABASE_URL (docs/configuration.md)."
        )
    return ""
