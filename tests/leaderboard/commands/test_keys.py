"""``manage.py keys``."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

from django.core.management import call_command

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings


def printed() -> list[str]:
    out = io.StringIO()
    call_command("keys", stdout=out)
    return out.getvalue().splitlines()


def test_set_keys_are_printed_as_they_are(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR, settings.SECRET_KEY = tmp_path, "the secret key"
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_keys=["n" * 40, "o" * 40])
    assert printed() == ["SECRET_KEY=the secret key", f"ENDPOINT_KEYS={'n' * 40},{'o' * 40}"]


def test_hosts_that_share_servers_are_asked_to_share_the_keys(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    servers = {"database_url": "postgres://u:p@h/d", "redis_url": "redis://h/0", "secret_key": "", "endpoint_keys": []}
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **servers)
    errors = io.StringIO()
    call_command("keys", stdout=io.StringIO(), stderr=errors)
    expected = (
        "Set these on every host with the pool site or model_calls. "
        "Keys that are not set are those of this host's data folder.\n"
    )
    assert errors.getvalue() == expected


def test_a_key_in_the_data_folder_opens_what_it_sealed(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    first = printed()
    (made,) = (line.removeprefix("ENDPOINT_KEYS=") for line in first[1:])
    assert (len(made) >= 40, (tmp_path / "endpoint_key").read_text(encoding="ascii").strip()) == (True, made)
    assert printed() == first
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_keys=["n" * 40])
    assert printed()[1] == f"ENDPOINT_KEYS={'n' * 40},{made}"
