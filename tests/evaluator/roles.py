"""A database role of hosts that only run tests, for tests that act with its rights alone."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.core.management import call_command
from django.db import connection

if TYPE_CHECKING:
    from collections.abc import Iterator

_PASSWORD: Final = "open sesame"


def execute(statement: str) -> list[tuple[Any, ...]]:
    """Execute a statement and return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


@pytest.fixture
def bare_role(db: None) -> Iterator[str]:
    """A role that may sign in and nothing else. Its name needs quotes."""
    name = f'tests of "{connection.settings_dict["NAME"]}" 5%'
    execute(f"CREATE ROLE {quoted(name)} LOGIN PASSWORD '{_PASSWORD}'")
    yield name
    execute(f"DROP OWNED BY {quoted(name)}")
    execute(f"DROP ROLE {quoted(name)}")


@pytest.fixture
def tests_role(bare_role: str) -> str:
    """A role with the rights of a host that only runs tests."""
    call_command("worker_grants", bare_role)
    return bare_role


@contextmanager
def acting_as(role: str) -> Iterator[None]:
    """Give up the rights of this connection's own role, within a transaction or outside."""
    execute(f"SET ROLE {quoted(role)}")
    try:
        yield
    finally:
        execute("RESET ROLE")


@contextmanager
def signed_in(role: str) -> Iterator[None]:
    """Let every thread of this process connect as ``role``."""
    own = {name: connection.settings_dict[name] for name in ("USER", "PASSWORD")}
    try:
        connection.close()
        connection.settings_dict.update(USER=role, PASSWORD=_PASSWORD)
        yield
    finally:
        connection.close()
        connection.settings_dict.update(own)
