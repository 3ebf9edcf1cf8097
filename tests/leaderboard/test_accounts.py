"""Accounts without and with an e-mail server, in our layout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.core import mail

from submissions.models import User
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings

pytestmark = pytest.mark.django_db

SIGN_UP = {
    "username": "newcomer",
    "email": "newcomer@mail.example",
    "password1": "a-long-enough-password",
    "password2": "a-long-enough-password",
}


@pytest.fixture(autouse=True)
def _no_shared_cache(settings: Settings) -> None:
    """Login limits of their own for each test."""
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}


def test_sign_up_sign_out_sign_in_without_any_letter(client: Client) -> None:
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
        assert "make password USER=" in page
        assert "board@example.org" in page
        assert "<form" not in page
    assert mail.outbox == []


def test_password_reset_with_a_mail_server_sends_a_letter(client: Client, settings: Settings) -> None:
    settings.EMAIL_CONFIGURED = True
    UserFactory(email="a@mail.example")
    assert "<form" in client.get("/accounts/password/reset/").content.decode()
    response = client.post("/accounts/password/reset/", {"email": "a@mail.example"})
    assert response["Location"] == "/accounts/password/reset/done/"
    assert [letter.to for letter in mail.outbox] == [["a@mail.example"]]


def test_closed_sign_up_says_so(client: Client, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, sign_up_open=False)
    assert "Sign-up is closed" in client.get("/accounts/signup/").content.decode()
    client.post("/accounts/signup/", SIGN_UP)
    assert not User.objects.exists()


def test_the_address_page_offers_letters_only_where_they_are_sent(client: Client, settings: Settings) -> None:
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
