"""Pages and the command line while the content store fails."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.bucket import bucket_at
from benchmark_tasks.domain.importing import import_suite
from tests.benchmark_tasks.factories import write_suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

pytestmark = pytest.mark.django_db


def test_a_bucket_that_does_not_exist_is_not_reachable(client: Client, storage_url: str, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url=f"{storage_url}-mistyped")
    assert client.get("/readyz").json()["storage"] == "unreachable"


def test_a_suites_page_needs_no_files(
    client: Client,
    storage_away: Callable[[], AbstractContextManager[None]],
    settings: Settings,
    tmp_path: Path,
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
    assert client.get("/suites/small/").status_code == 200
    with storage_away():
        assert client.get("/suites/small/").status_code == 200


def test_a_key_in_the_address_is_used_without_another_keys_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "the token of the machine's own key")
    found = bucket_at("s3://key:secret@s3.example.org/bucket")
    assert found.client._request_signer._credentials.token is None


def test_a_machines_temporary_key_is_used_with_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "SESSION_TOKEN": "token"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    found = bucket_at("s3://s3.example.org/bucket").client._request_signer._credentials
    assert (found.access_key, found.secret_key, found.token) == ("key", "secret", "token")
