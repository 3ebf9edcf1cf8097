"""How often one account may have the server check a file, and what happens when two windows act on one upload."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from submissions.domain import quotas, submitting, uploads
from submissions.exceptions import QuotaExceededError, WrongStateError
from submissions.models import Submission, Upload
from tests.submissions.factories import RIGHT, bundle, checked_by_worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

TOO_MANY = "You have had 3 files checked within this hour"


@pytest.fixture(autouse=True)
def _few_checks(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three checks an hour, counted from none, and one submission a day."""
    monkeypatch.setattr(quotas, "CHECKS_AN_HOUR", 3)
    monkeypatch.setattr(quotas, "limit", lambda _: 1)
    cache.clear()
    yield
    cache.clear()


def send(client: Client, **fields: Any) -> Any:
    file = SimpleUploadedFile("answers.zip", bundle({"alpha/1": RIGHT}))
    return client.post(reverse("upload"), {"file": file, **fields})


def test_sending_and_discarding_in_a_loop_ends(as_alice: Client, small: SuiteVersion) -> None:
    for _ in range(3):
        assert send(as_alice).status_code == 302
        as_alice.post(reverse("upload_discard", args=[Upload.objects.get().pk]))
    response = send(as_alice, system="Typed Name")
    page = response.content.decode()
    assert (response.status_code, TOO_MANY in page, "Typed Name" in page) == (200, True, True)
    assert not Upload.objects.exists()


def test_wrong_fields_beside_the_file_count_as_well(as_alice: Client, small: SuiteVersion) -> None:
    for _ in range(4):
        last = send(as_alice, links="no address")
    assert TOO_MANY in last.content.decode()
    assert Upload.objects.count() == 3


def test_checking_a_stored_file_again_counts_and_keeps_it(as_alice: Client, small: SuiteVersion) -> None:
    send(as_alice)
    pk = Upload.objects.get().pk
    for _ in range(2):
        assert as_alice.post(reverse("upload"), {"stored": pk}).status_code == 302
    page = as_alice.post(reverse("upload"), {"stored": pk}).content.decode()
    assert (TOO_MANY in page, f'name="stored" value="{pk}"' in page) == (True, True)
    assert Upload.objects.get().pk == pk


def test_submitting_in_a_loop_without_a_quota_ends(
    as_alice: Client, small: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "used_today", lambda _: 1)
    send(as_alice)
    checked_by_worker()
    address = reverse("upload_check", args=[Upload.objects.get().pk])
    pages = [as_alice.post(address).content.decode() for _ in range(3)]
    assert [TOO_MANY in page for page in pages] == [False, False, True]
    assert (Upload.objects.count(), Submission.objects.count()) == (1, 0)


def test_one_account_does_not_close_another(alice: User, bob: User) -> None:
    for _ in range(3):
        quotas.count_check(alice)
    with pytest.raises(QuotaExceededError, match=TOO_MANY):
        quotas.count_check(alice)
    quotas.count_check(bob)


def test_the_next_hour_is_free_again(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        quotas.count_check(alice)
    later = timezone.now() + timedelta(hours=1)
    monkeypatch.setattr("submissions.domain.quotas.timezone.now", lambda: later)
    quotas.count_check(alice)


def test_whoever_may_submit_more_may_check_more(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "limit", lambda _: 5)
    for _ in range(5):
        quotas.count_check(alice)
    with pytest.raises(QuotaExceededError):
        quotas.count_check(alice)


def test_an_upload_that_another_window_has_just_dealt_with(alice: User, small: SuiteVersion) -> None:
    file = SimpleUploadedFile("answers.zip", bundle({"alpha/1": RIGHT}))
    upload = uploads.receive(owner=alice, file=file, described=None, fields={})
    checked_by_worker()
    upload.refresh_from_db()
    Path(upload.file.path).unlink()
    with pytest.raises(WrongStateError, match="in another window"):
        submitting.submit_upload(upload=upload)
