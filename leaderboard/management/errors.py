"""Explain errors of the database, the content store and the data folder at the command line."""

from __future__ import annotations

import os
import re
from pathlib import Path

from django.conf import settings
from django.core.management import CommandError
from django.db import connection
from django.db.utils import DatabaseError, OperationalError

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.content import ContentMissingError

# SQLite's messages; PostgreSQL has error codes instead: undefined_table, undefined_column.
_NO_TABLE = re.compile(r"no such (table|column)|has no column named")
_NO_TABLE_CODES = {"42P01", "42703"}
_NO_RIGHT_CODE = "42501"
_UNUSABLE = re.compile(
    r"unable to open|readonly database|is locked|disk is full|disk I/O error|not a database|malformed"
)
_SHOWN_LINES = 3
_DAMAGED = re.compile(r"not a database|malformed")


def require_whole_database() -> None:
    """Check the integrity of SQLite's file, which a machine crash or a full disk can damage.

    PostgreSQL needs no check. Raises :class:`CommandError` with instructions for restoring.
    """
    if connection.vendor != "sqlite":
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA quick_check({_SHOWN_LINES})")
            found = [str(row[0]) for row in cursor.fetchall()]
    except DatabaseError as error:
        if not _DAMAGED.search(str(error)):
            raise
        found = [str(error)]
    if found != ["ok"]:
        damage = "; ".join(" ".join(line.split()) for line in found)
        msg = (
            f"The database {connection.settings_dict['NAME']} is damaged ({damage}). Nothing was started or changed.\n"
            "Keep a copy of it, then restore your last backup (docs/operating.md, “After a crash”)."
        )
        raise CommandError(msg)


def require_typed(word: str, *, prompt: str, refusal: str) -> None:
    """Have the operator type ``word``. Raises :class:`CommandError` with the ``refusal`` otherwise."""
    try:
        answer = input(prompt)
    except EOFError:
        answer = ""
    if answer.strip() != word:
        raise CommandError(refusal)


def explained(error: Exception) -> str:
    """Return one line with the problem and what to do; empty for an error in the program itself."""
    if isinstance(error, StorageUnavailableError):
        return f"{error} Start or repair the storage, or correct STORAGE_URL (docs/configuration.md)."
    if isinstance(error, ContentMissingError):
        return f"{error} manage.py storage lists everything that is missing."
    if isinstance(error, PermissionError) and Path(str(error.filename)).is_relative_to(settings.DATA_DIR):
        user = f"{os.getuid()}:{os.getgid()}"
        return (
            f"User {user} may not use {error.filename}. Give the data folder to that user "
            f"(chown -R {user} {settings.DATA_DIR}), or start this as the folder's owner."
        )
    return _explained(error) if isinstance(error, DatabaseError) else ""


def _explained(error: DatabaseError) -> str:
    text = " ".join(str(error).split())
    code = getattr(error.__cause__, "sqlstate", "")
    if code in _NO_TABLE_CODES or _NO_TABLE.search(text):
        # PostgreSQL appends an excerpt of the query.
        what = str(error).splitlines()[0]
        return f"The database is not set up, or not up to date ({what}). Run make setup (or manage.py setup) first."
    if code == _NO_RIGHT_CODE:
        role, what = connection.settings_dict["USER"], str(error).splitlines()[0]
        return (
            f"The database refused this to its role {role} ({what}). A host with POOLS=tests needs the rights that "
            f"manage.py worker_grants {role} gives on the site's host, after each upgrade; all else, such as "
            "migrations, needs the role that owns the tables (docs/instance.md, “More hosts”)."
        )
    # A connection that failed or was lost has no code, or one of the classes 08, 53, 57 and 28.
    unreachable = isinstance(error, OperationalError) and hasattr(error.__cause__, "sqlstate")
    if unreachable or _UNUSABLE.search(text):
        return (
            f"The database cannot be used: {text}. Start or repair it, or correct DATABASE_URL (docs/configuration.md)."
        )
    return ""
