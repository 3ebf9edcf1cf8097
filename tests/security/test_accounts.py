"""Accounts: signing up and in, e-mails, and limits on guessing."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from django.core import mail
from django.core.cache import caches
from django.db import connection
from django.test import Client

from submissions.models import User
from tests.conftest import PROJECT_ROOT
from tests.submissions.factories import PASSWORD, UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_django import Settings

pytestmark = pytest.mark.django_db


SIGN_UP = {
    "username": "newcomer",
    "email": "newcomer@mail.example",
    "password1": "a-long-enough-password",
    "password2": "a-long-enough-password",
}


def test_sign_up_sign_out_sign_in_without_any_e_mail(client: Client) -> None:
    response = client.post("/accounts/signup/", SIGN_UP)
    assert (response.status_code, response["Location"]) == (302, "/my/")
    assert User.objects.get().username == "newcomer"
    assert client.post("/accounts/logout/")["Location"] == "/"
    login = {"login": "newcomer", "password": SIGN_UP["password1"]}
    assert client.post("/accounts/login/", login)["Location"] == "/my/"
    assert mail.outbox == []


def test_password_reset_without_a_mail_server_names_the_operator(client: Client, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, contact="board@example.org")
    UserFactory(email="a@mail.example")
    for response in (
        client.get("/accounts/password/reset/"),
        client.post("/accounts/password/reset/", {"email": "a@mail.example"}),
    ):
        page = response.content.decode()
        assert response.status_code == 200
        assert "Ask the operator" in page
        assert "board@example.org" in page
        assert "<form" not in page
    assert mail.outbox == []


def test_password_reset_with_a_mail_server_sends_an_e_mail(client: Client, settings: Settings) -> None:
    settings.EMAIL_CONFIGURED = True
    UserFactory(email="a@mail.example")
    assert "<form" in client.get("/accounts/password/reset/").content.decode()
    response = client.post("/accounts/password/reset/", {"email": "a@mail.example"})
    assert response["Location"] == "/accounts/password/reset/done/"
    assert [message.to for message in mail.outbox] == [["a@mail.example"]]


def test_closed_sign_up_refuses_accounts(client: Client, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, sign_up_open=False)
    assert "Sign-up is closed" in client.get("/accounts/signup/").content.decode()
    client.post("/accounts/signup/", SIGN_UP)
    assert not User.objects.exists()


def test_the_address_page_offers_e_mails_only_with_a_mail_server(client: Client, settings: Settings) -> None:
    person = UserFactory()
    client.force_login(person)
    client.post("/accounts/email/", {"action_add": "", "email": "other@mail.example"})
    page = client.get("/accounts/email/").content.decode()
    assert 'value="other@mail.example"' in page
    assert "sends no e-mail" in page
    assert "action_send" not in page
    assert "was sent" not in page
    assert mail.outbox == []
    settings.EMAIL_CONFIGURED = True
    assert "action_send" in client.get("/accounts/email/").content.decode()


TOO_MANY = "Too many failed login attempts"


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    caches["default"].clear()
    yield
    caches["default"].clear()


def sign_in(login: str, password: str, **headers: str) -> Any:
    """Sign in from a browser without cookies."""
    return Client(headers=headers).post("/accounts/login/", {"login": login, "password": password})


def test_counters_expire_but_are_never_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Django's database cache deletes a third of the live entries, also counters, when it has more than 300."""
    counters = caches["default"]
    monkeypatch.setattr(counters, "_max_entries", 20)
    with time_machine.travel(datetime.now(UTC) - timedelta(hours=2)):
        counters.set("over", 1, 60)
    alive = {f"counter-{number:02}": number for number in range(60)}
    for key, value in alive.items():
        counters.set(key, value, 3600)
    with connection.cursor() as cursor:
        cursor.execute("SELECT cache_key FROM shared_cache ORDER BY cache_key")
        assert [key for (key,) in cursor.fetchall()] == [f":1:{key}" for key in alive]
    assert counters.get_many(alive) == alive


def test_five_wrong_passwords_block_the_guesser_but_not_the_owner(settings: Settings) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    guesser, owner = {"x-forwarded-for": "192.0.2.1"}, {"x-forwarded-for": "192.0.2.2"}
    UserFactory(username="alice")
    UserFactory(username="bob")
    for _ in range(5):
        assert TOO_MANY not in sign_in("alice", "wrong", **guesser).content.decode()
    shut = sign_in("alice", PASSWORD, **guesser)
    assert (shut.status_code, TOO_MANY in shut.content.decode()) == (200, True)
    assert sign_in("alice", PASSWORD, **owner).status_code == 302
    assert sign_in("bob", PASSWORD, **guesser).status_code == 302


def test_addresses_of_one_ipv6_network_count_together(settings: Settings) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    UserFactory(username="alice")
    for number in range(5):
        sign_in("alice", "wrong", **{"x-forwarded-for": f"2001:db8::{number:x}"})
    assert TOO_MANY in sign_in("alice", PASSWORD, **{"x-forwarded-for": "2001:db8::99"}).content.decode()
    assert sign_in("alice", PASSWORD, **{"x-forwarded-for": "2001:db8:1::1"}).status_code == 302


def test_ten_wrong_names_in_a_minute_block_an_address(settings: Settings) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    UserFactory(username="alice")
    one, other = {"x-forwarded-for": "192.0.2.1"}, {"x-forwarded-for": "192.0.2.2"}
    for number in range(10):
        sign_in(f"nobody-{number}", "wrong", **one)
    assert TOO_MANY in sign_in("alice", PASSWORD, **one).content.decode()
    # Addresses that a client puts before the proxy's own are ignored.
    forged = {"x-forwarded-for": "203.0.113.9, 192.0.2.1"}
    assert TOO_MANY in sign_in("alice", PASSWORD, **forged).content.decode()
    assert sign_in("alice", PASSWORD, **other).status_code == 302


@pytest.mark.parametrize(("trusted", "count"), [("true", "1"), ("false", "0")])
def test_the_header_is_used_only_where_a_proxy_is_trusted(trusted: str, count: str, tmp_path: Path) -> None:
    code = "from django.conf import settings; print(settings.ALLAUTH_TRUSTED_PROXY_COUNT)"
    values = {"TRUST_PROXY": trusted, "DATA_DIR": str(tmp_path), "ENV_FILE": os.devnull, "PATH": os.environ["PATH"]}
    values["DJANGO_SETTINGS_MODULE"] = "leaderboard.settings"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT_ROOT, env=values, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{count}\n"


def test_without_a_proxy_the_header_is_ignored() -> None:
    UserFactory(username="alice")
    for number in range(10):
        sign_in(f"nobody-{number}", "wrong", **{"x-forwarded-for": f"192.0.2.{number}"})
    assert TOO_MANY in sign_in("alice", PASSWORD, **{"x-forwarded-for": "192.0.2.77"}).content.decode()


def test_signing_up_does_not_reveal_whether_an_address_is_taken() -> None:
    UserFactory(username="alice", email="alice@mail.example")
    answers = []
    for name, address in (("one", "alice@mail.example"), ("two", "nobody@mail.example")):
        answer = Client().post("/accounts/signup/", {**SIGN_UP, "username": name, "email": address})
        answers.append((answer.status_code, answer.headers["Location"]))
    assert answers[0] == answers[1] == (302, "/my/")
    assert sign_in("alice@mail.example", PASSWORD).status_code == 302


def test_many_new_accounts_in_a_minute_are_refused() -> None:
    codes = []
    for number in range(21):
        form = {**SIGN_UP, "username": f"new-{number}", "email": f"new-{number}@mail.example"}
        codes.append(Client().post("/accounts/signup/", form).status_code)
    assert (set(codes[:20]), codes[20]) == ({302}, 429)
