"""Where to report a hole (RFC 9116)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leaderboard.settings.environment import ConfigurationError, Variables, read

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings
    from time_machine import TimeMachineFixture

ADDRESS = "/.well-known/security.txt"


def test_it_names_the_contact_and_a_date(client: Client, settings: Settings, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to("2026-11-21T20:00:00Z")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, security_contact="mailto:security@board.example.org")
    response = client.get(ADDRESS)
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode().splitlines() == [
        "Contact: mailto:security@board.example.org",
        "Expires: 2027-05-20T00:00:00Z",
        "Policy: http://testserver/docs/security/",
        "Preferred-Languages: en",
    ]


@pytest.mark.django_db
def test_without_a_contact_there_is_none(client: Client, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, security_contact="")
    assert client.get(ADDRESS).status_code == 404


@pytest.mark.parametrize("value", ["security@board.example.org", "http://board.example.org", "mailto:", "https://"])
def test_a_contact_that_is_no_address_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECURITY_CONTACT", value)
    with pytest.raises(ConfigurationError, match="SECURITY_CONTACT: not an address such as mailto:"):
        read(Variables())
