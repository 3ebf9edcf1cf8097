"""What people see when something is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client, RequestFactory
from django.views import defaults

from tests.benchmark_tasks.factories import SuiteFactory

if TYPE_CHECKING:
    from pytest_django import Settings


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
def test_not_allowed_gives_the_reason() -> None:
    response = defaults.permission_denied(RequestFactory().get("/"), PermissionDenied("Only its owner may do this."))
    assert response.status_code == 403
    assert "Only its owner may do this." in response.content.decode()


@pytest.mark.django_db
def test_a_missing_form_token_says_what_to_do() -> None:
    response = Client(enforce_csrf_checks=True).post("/accounts/login/", {"login": "a", "password": "b"})
    assert response.status_code == 403
    assert "send the form again" in response.content.decode()


def test_a_fault_of_ours_needs_no_database() -> None:
    # Without the db fixture, any query would fail the test.
    response = defaults.server_error(RequestFactory().get("/"))
    assert response.status_code == 500
    assert "Something broke on our side" in response.content.decode()


def test_a_bad_request_needs_no_database(client: Client, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["board.example.org"]
    response = client.get("/", headers={"host": "evil.example"})
    assert response.status_code == 400
    assert "could not be understood" in response.content.decode()
