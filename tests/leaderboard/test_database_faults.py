"""A database that cannot be used ends a command with one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.db.utils import OperationalError, ProgrammingError

from leaderboard.management.database_faults import explained
from tests.leaderboard.test_settings import manage

SET_UP = "Run make setup (or manage.py setup) first.\n"


def test_without_tables_one_line_says_what_to_do(tmp_path: Path) -> None:
    result = manage("reconcile", DATA_DIR=str(tmp_path / "var"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("The database is not set up, or not up to date (no such table: ")
    assert result.stderr.endswith(SET_UP)
    assert result.stderr.count("\n") == 1
    with_traceback = manage("reconcile", "--traceback", DATA_DIR=str(tmp_path / "var"))
    assert (with_traceback.returncode, "Traceback" in with_traceback.stderr) == (1, True)


def test_an_unreachable_database_is_named(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/none/db.sqlite3", "postgres://nobody@127.0.0.1:1/none"):
        result = manage("board", "--suite", "lmr-mini", DATA_DIR=str(tmp_path / "var"), DATABASE_URL=url)
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.startswith("The database cannot be used: ")
        assert result.stderr.count("\n") == 1


def test_an_error_of_the_program_keeps_its_traceback() -> None:
    assert explained(OperationalError('near "SELCT": syntax error')) == ""
    assert explained(ProgrammingError("can't adapt type 'object'")) == ""


@pytest.mark.postgres
@pytest.mark.skipif("DATABASE_URL" not in os.environ, reason="needs DATABASE_URL of a PostgreSQL server")
@pytest.mark.django_db
def test_a_missing_table_on_postgresql() -> None:
    from django.db import connection

    with pytest.raises(ProgrammingError) as missing, connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM no_such_table")
    assert explained(missing.value) == (
        'The database is not set up, or not up to date (relation "no_such_table" does not exist). ' + SET_UP.strip()
    )
