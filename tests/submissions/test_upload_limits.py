"""A body that is far too large does not reach the disk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler

from submissions.answers.archives import ArchiveLimits
from submissions.upload_limits import BoundedUploadHandler
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings

LIMIT = ArchiveLimits().upload


@pytest.mark.parametrize(("start", "handed_on"), [(0, b"chunk"), (LIMIT, b"chunk"), (LIMIT + 1, None)])
def test_chunks_beyond_the_limit_are_dropped(start: int, handed_on: bytes | None) -> None:
    assert BoundedUploadHandler().receive_data_chunk(b"chunk", start) == handed_on


@pytest.mark.django_db
@pytest.mark.parametrize(("signed_in", "limit"), [(False, LIMIT), (True, LIMIT + 1024 * 1024)])
def test_a_large_body_is_cut_on_its_way_and_refused_by_the_form(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: Settings, signed_in: bool, limit: int
) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, output_tree_upload_mb=21)
    written = []
    original = TemporaryFileUploadHandler.receive_data_chunk

    def counting(self: TemporaryFileUploadHandler, raw_data: bytes, start: int) -> None:
        written.append(len(raw_data))
        original(self, raw_data, start)

    monkeypatch.setattr(TemporaryFileUploadHandler, "receive_data_chunk", counting)
    if signed_in:
        client.force_login(UserFactory())
    # Django's client skips the CSRF check, which would else be what reads the body.
    client.handler.enforce_csrf_checks = True
    client.cookies["csrftoken"] = "a" * 32
    page = client.post("/submit/", {"file": SimpleUploadedFile("big.zip", b"x" * (limit + 8_000_000))})
    assert page.status_code == 403
    assert limit < sum(written) <= limit + 128 * 1024


@pytest.mark.django_db
def test_what_was_cut_is_refused_by_the_form(client: Client, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, output_tree_upload_mb=21)
    client.force_login(UserFactory())
    page = client.post("/submit/", {"file": SimpleUploadedFile("big.zip", b"x" * (LIMIT + 8_000_000))})
    assert "big.zip has more than the 21 MB that are accepted." in page.content.decode()
