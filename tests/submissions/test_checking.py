"""Checking a large upload beside the request."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from submissions.domain import checking, uploads
from submissions.models import Upload
from tests.submissions.factories import bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User


class _Thread:
    """Runs at once, in the test's own thread and database connection."""

    def __init__(self, target: Callable[..., None], args: tuple[object, ...], *, daemon: bool) -> None:
        assert daemon
        self._target, self._args = target, args

    def start(self) -> None:
        self._target(*self._args)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is too large to be checked at once."""
    monkeypatch.setattr(uploads, "CHECKED_AT_ONCE", 10)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks run when their thread is started."""
    monkeypatch.setattr("submissions.domain.checking.threading.Thread", _Thread)
    monkeypatch.setattr("submissions.domain.checking.connections.close_all", lambda: None)


def stored(owner: User) -> Upload:
    file = SimpleUploadedFile("answers.zip", bundle())
    return uploads.receive(owner=owner, file=file, described=None, fields={})


@pytest.mark.usefixtures("large")
def test_a_large_upload_is_only_stored(alice: User, small: SuiteVersion) -> None:
    upload = stored(alice)
    upload.refresh_from_db()
    assert (upload.checked, upload.report, upload.checking_since) == (False, {}, None)
    assert Path(upload.file.path).read_bytes() == bundle()


@pytest.mark.usefixtures("large")
def test_the_page_waits_and_starts_the_check_once(
    as_alice: Client, alice: User, small: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def check(pk: int, _: object) -> None:
        started.append(pk)
        checking._one_at_a_time.release()

    monkeypatch.setattr(checking, "_check", check)
    monkeypatch.setattr("submissions.domain.checking.threading.Thread", _Thread)
    upload = stored(alice)
    page = reverse("upload_check", args=[upload.pk])
    for method in (as_alice.get, as_alice.post, as_alice.get):
        response = method(page)
        assert response.status_code == 200
        text = response.content.decode()
        assert '<meta http-equiv="refresh" content="2">' in text
        assert 'Checking <span class="filename">answers.zip</span>' in text
    assert started == [upload.pk]


@pytest.mark.usefixtures("large", "at_once")
def test_what_the_check_found_is_shown_by_the_next_look(as_alice: Client, alice: User, small: SuiteVersion) -> None:
    upload = stored(alice)
    page = reverse("upload_check", args=[upload.pk])
    assert "Checking" in as_alice.get(page).content.decode()
    text = as_alice.get(page).content.decode()
    assert "Every answer in it applies." in text
    upload.refresh_from_db()
    assert (upload.checked, upload.report["acceptable"]) == (True, True)


@pytest.mark.usefixtures("large", "at_once")
def test_a_check_that_was_lost_is_begun_again_after_its_lease(alice: User, small: SuiteVersion) -> None:
    upload = stored(alice)
    begun = timezone.now() - checking.LEASE + timedelta(seconds=10)
    Upload.objects.update(checking_since=begun)
    assert checking.go_on(upload=upload, described=None) is None
    Upload.objects.update(checking_since=begun - timedelta(seconds=20))
    assert checking.go_on(upload=upload, described=None) is not None
    upload.refresh_from_db()
    assert upload.checked


@pytest.mark.usefixtures("large", "at_once")
def test_one_check_runs_at_a_time(alice: User, small: SuiteVersion) -> None:
    upload = stored(alice)
    with checking._one_at_a_time:
        assert checking.go_on(upload=upload, described=None) is None
    upload.refresh_from_db()
    assert (upload.checked, upload.checking_since) == (False, None)
    assert checking.go_on(upload=upload, described=None) is not None


@pytest.mark.usefixtures("large", "at_once")
def test_a_fault_in_the_check_leaves_it_to_the_next(
    alice: User, small: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = stored(alice)
    with monkeypatch.context() as patch:
        patch.setattr(checking, "check_stored", lambda **_: 1 / 0)
        checking.go_on(upload=upload, described=None)
    Upload.objects.update(checking_since=None)
    checking.go_on(upload=upload, described=None)
    upload.refresh_from_db()
    assert upload.checked


@pytest.mark.usefixtures("large", "at_once")
def test_fields_that_were_changed_meanwhile_win(
    alice: User, small: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = stored(alice)

    def check(**_: object) -> uploads.CheckedBundle:
        uploads.check_again(upload=Upload.objects.get(), described=None, fields={"notes": "later"})
        return uploads.CheckedBundle(problems=())

    monkeypatch.setattr(uploads, "check_file", check)
    checking.go_on(upload=upload, described=None)
    upload.refresh_from_db()
    assert (upload.checked, upload.report, upload.fields) == (False, {}, {"notes": "later"})


@pytest.mark.usefixtures("large")
def test_the_list_of_uploads_says_so(as_alice: Client, alice: User, small: SuiteVersion) -> None:
    stored(alice)
    assert "not checked yet" in as_alice.get(reverse("my_submissions")).content.decode()
