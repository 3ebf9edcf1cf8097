"""What people see when something is wrong."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.db.utils import OperationalError
from django.test import Client, RequestFactory
from django.views import defaults

from leaderboard.views.errors import server_error
from tests.benchmark_tasks.factories import SuiteFactory
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpResponse

ACCOUNT = {"username": "ada", "email": "ada@mail.example", "password1": "long-enough-1", "password2": "long-enough-1"}


@pytest.mark.django_db
def test_not_found_says_what_was_missing(client: Client) -> None:
    SuiteFactory(slug="small")
    page = client.get("/docs/absent/").content.decode()
    assert "There is no page “absent” in the documentation." in page
    unknown = client.get("/nothing/here/")
    assert unknown.status_code == 404
    assert "There is no such page" in unknown.content.decode()
    assert "Resolver404" not in unknown.content.decode()
    assert "given query" not in client.get("/suites/absent/").content.decode()


@pytest.mark.django_db
def test_a_missing_form_token_says_what_to_do() -> None:
    response = Client(enforce_csrf_checks=True).post("/accounts/login/", {"login": "a", "password": "b"})
    assert response.status_code == 403
    assert "send the form again" in response.content.decode()


def test_an_error_needs_no_database() -> None:
    # Without the db fixture, any query would fail the test.
    response = defaults.server_error(RequestFactory().get("/"))
    assert (response.status_code, "Something broke on this site" in response.content.decode()) == (500, True)


PAGES = 1073741823
NO_ROOM = """
CREATE FUNCTION no_room() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$
LANGUAGE plpgsql; CREATE TRIGGER no_room BEFORE INSERT ON submissions_user EXECUTE FUNCTION no_room();
"""


@pytest.fixture
def full_database(transactional_db: None) -> Iterator[None]:
    """SQLite with as many pages as it may have, which it treats as a full disk; PostgreSQL that raises its error."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(NO_ROOM)
            yield
            cursor.execute("DROP FUNCTION no_room CASCADE")
            return
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA page_count")
        cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0]}")
        with pytest.raises(OperationalError, match="database or disk is full"):
            UserFactory.create_batch(500)
        yield
        cursor.execute(f"PRAGMA max_page_count = {PAGES}")


def test_a_full_disk_is_said_and_what_was_typed_is_repeated(full_database: None) -> None:
    client = Client(raise_request_exception=False)
    typed = {**ACCOUNT, "email": f"{'x' * 60}@mail.example", "note": "<b>words</b> " * 2000}
    response = client.post("/accounts/signup/", typed)
    page = response.content.decode()
    assert response.status_code == 507
    assert "disk is full" in page
    assert "&lt;b&gt;words&lt;/b&gt; " * 2000 in page
    assert "long-enough-1" not in page


def answer_to(error: Exception) -> HttpResponse:
    """The page for an error that nobody caught."""
    late = RuntimeError("on the way")
    late.__cause__ = error
    try:
        raise late
    except RuntimeError:
        return server_error(RequestFactory().post("/", {"words": "kept"}))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_known_behind_other_errors(number: int) -> None:
    response = answer_to(OSError(number, "no room", "/srv/secret"))
    assert response.status_code == 507
    assert "kept" in response.content.decode()
    assert "/srv/secret" not in response.content.decode()


def test_any_other_error_is_ours() -> None:
    assert answer_to(OSError(errno.EIO, "broken")).status_code == 500
    assert answer_to(OperationalError("database is locked")).status_code == 500
