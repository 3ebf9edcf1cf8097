"""What stands in the logs, and what must not."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from leaderboard.settings.logs import logging_settings
from reviews.people.invitations import invite
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db


def formatted(record: logging.LogRecord, form: str) -> str:
    """``record`` as the handler of :func:`logging_settings` writes it."""
    made: dict[str, Any] = logging_settings(level="INFO", form=form)["formatters"]["structured"]
    return str(made.pop("()")(**made).format(record))


@pytest.mark.parametrize("form", ["console", "json"])
def test_an_invitation_opened_leaves_no_secret(client: Client, caplog: pytest.LogCaptureFixture, form: str) -> None:
    _, secret = invite(actor=UserFactory(is_staff=True), annotator=True, adjudicator=False)
    with caplog.at_level(logging.INFO):
        assert client.get(f"/reviews/join/{secret}/").status_code == 200
        assert client.get(f"/accounts/login/?next=/reviews/join/{secret}/").status_code == 200
        assert client.get(f"/reviews/join/{secret}x/").status_code == 404
    lines = [formatted(record, form) for record in caplog.records]
    assert any("/reviews/join/" in line for line in lines)
    assert [line for line in lines if secret in line] == []


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("GET /reviews/join/aB-_9/", "GET /reviews/join/[secret]/"),
        ("GET /accounts/login/?next=%2Freviews%2Fjoin%2FaB-_9%2F", "?next=%2Freviews%2Fjoin%2F[secret]%2F"),
        ("GET /reviews/label/12/", "GET /reviews/label/12/"),
    ],
)
def test_addresses_are_written_but_for_their_secret(said: str, written: str) -> None:
    record = logging.LogRecord("django.request", logging.WARNING, __file__, 1, "Not Found: %s", (said,), None)
    assert written in json.loads(formatted(record, "json"))["event"]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("\x1b[31mred", "\u2039U+001B\u203a[31mred"),
        ("abc\u202efed", "abc\u2039U+202E\u203afed"),
        ("pass\u200bword", "pass\u2039U+200B\u203aword"),
        ("a\u2028b", "a\u2039U+2028\u203ab"),
        ("a\r\n2026-01-01 [error] forged", "a\\r\\n2026-01-01 [error] forged"),
    ],
    ids=["terminal", "reorders", "zero width", "line separator", "line of its own"],
)
def test_foreign_text_hides_nothing_and_writes_no_line_of_its_own(said: str, written: str) -> None:
    caught = (ValueError, ValueError(said), None)
    record = logging.LogRecord("django.request", logging.ERROR, __file__, 1, "Not found: %s", (said,), caught)
    found = json.loads(formatted(record, "json"))
    assert found["event"] == f"Not found: {written}"
    first, _, rest = formatted(record, "console").partition("\n")
    assert f"Not found: {written}" in first
    shown = written.replace("\\r\\n", "\\r\n")  # a traceback has lines
    assert f"ValueError: {shown}" in found["exception"]
    assert f"ValueError: {shown}" in rest


def test_values_in_values_are_written_out_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        structlog.get_logger("site").info("said", who={"names": ["a\u202eb"]}, number=3)
    found = json.loads(formatted(caplog.records[-1], "json"))
    assert (found["who"], found["number"]) == ({"names": ["a\u2039U+202E\u203ab"]}, 3)
