"""Checking uploads in a worker, and the page that shows the progress."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from submissions.domain import checking, uploads
from submissions.domain.uploads import described_by
from submissions.models import Upload
from tests.submissions.factories import bundle, checked_by_worker

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from django.test import Client
    from pytest_django import Settings

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User


def stored(owner: User, content: bytes | None = None, **fields: Any) -> Upload:
    file = SimpleUploadedFile("answers.zip", bundle() if content is None else content)
    return uploads.receive(owner=owner, file=file, described=described_by(fields), fields=fields)


def states() -> list[tuple[bool, bool, int]]:
    """Return for each upload, in order: checked, being checked, tries."""
    rows = Upload.objects.order_by("pk").values_list("checked", "checking_since", "tries")
    return [(checked, since is not None, tries) for checked, since, tries in rows]


def test_a_worker_checks_an_upload(alice: User, small: SuiteVersion) -> None:
    upload = stored(alice)
    assert (checking.check_next(), checking.check_next(), checking.waiting()) == (True, False, 0)
    upload.refresh_from_db()
    assert (upload.checked, upload.tries, upload.report["acceptable"]) == (True, 1, True)
    assert uploads.checked_bundle(Path(upload.result.path).read_bytes()).report() == upload.report


def test_an_unreadable_file_is_reported_without_a_stored_result(alice: User, small: SuiteVersion) -> None:
    upload = stored(alice, b"\x00 no archive")
    checked_by_worker()
    upload.refresh_from_db()
    assert (upload.checked, upload.result.name, upload.report["acceptable"]) == (True, "", False)
    assert [problem["severity"] for problem in upload.report["problems"]] == ["refuse"]


def test_the_page_shows_progress_and_viewing_it_changes_nothing(
    as_alice: Client, alice: User, small: SuiteVersion
) -> None:
    upload = stored(alice)
    page, progress = (reverse(name, args=[upload.pk]) for name in ("upload_check", "upload_progress"))
    for method in (as_alice.get, as_alice.post, as_alice.get):
        response = method(page)
        text = response.content.decode()
        assert response.status_code == 200
        assert 'Checking <span class="filename">answers.zip</span>' in text
        assert f'hx-get="{progress}" hx-trigger="every 1s"' in text
        assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in text
        assert "It waits for a worker to check it." in text
    response = as_alice.get(progress)
    assert (response.status_code, response.headers.get("HX-Refresh")) == (204, None)
    assert states() == [(False, False, 0)]
    checked_by_worker()
    response = as_alice.get(progress)
    assert (response.status_code, response.headers.get("HX-Refresh")) == (200, "true")
    assert "Every answer applies." in as_alice.get(page).content.decode()


@pytest.mark.both_databases
def test_a_check_waits_while_the_storage_does_not_answer_and_uses_up_no_try(
    alice: User, small: SuiteVersion, storage_away: Callable[[], AbstractContextManager[None]]
) -> None:
    stored(alice)
    with storage_away():
        assert not checking.check_next()
        assert not checking.check_next()
    assert states() == [(False, False, 0)]
    assert checking.check_next()
    assert states() == [(True, True, 1)]


@pytest.mark.both_databases
def test_one_users_uploads_are_checked_one_at_a_time(alice: User, bob: User, small: SuiteVersion) -> None:
    for owner in (alice, alice, bob):
        stored(owner)
    Upload.objects.filter(pk=Upload.objects.order_by("pk")[0].pk).update(checking_since=timezone.now(), tries=1)
    assert checking.check_next()
    assert states() == [(False, True, 1), (False, False, 0), (True, True, 1)]
    assert not checking.check_next()


@pytest.mark.both_databases
def test_one_users_many_files_do_not_delay_others(alice: User, bob: User, small: SuiteVersion) -> None:
    for owner in (alice, alice, alice, bob):
        stored(owner)
    order = []
    while checking.check_next():
        order.append(Upload.objects.filter(checked=True).latest("checking_since").owner.username)
    assert order == ["alice", "bob", "alice", "alice"]


@pytest.mark.both_databases
def test_a_check_is_restarted_after_the_lease_of_a_dead_worker(alice: User, small: SuiteVersion) -> None:
    stored(alice)
    begun = timezone.now() - checking.LEASE
    Upload.objects.update(checking_since=begun + timedelta(seconds=10), tries=1)
    assert (checking.waiting(), checking.check_next()) == (0, False)
    Upload.objects.update(checking_since=begun - timedelta(seconds=10))
    assert (checking.waiting(), checking.check_next()) == (1, True)
    assert states() == [(True, True, 2)]


def test_failed_checks_count_and_end_as_an_infrastructure_error(
    as_alice: Client, alice: User, small: SuiteVersion, settings: Settings, data_dir: Path
) -> None:
    upload = stored(alice)
    data_dir.mkdir(exist_ok=True)
    (data_dir / "checks").write_text("in the way")
    for tries in (1, 2, 3):
        assert checking.check_next()
        assert states() == [(False, False, tries)]
    assert not checking.check_next()
    checking.sweep()
    assert states() == [(True, False, 3)]
    page = as_alice.get(reverse("upload_check", args=[upload.pk])).content.decode()
    assert "This file could not be checked." in page
    assert "An infrastructure error ended the check of this file 3 times; the file may be fine." in page
    (data_dir / "checks").unlink()
    assert as_alice.post(reverse("upload"), {"stored": upload.pk}).status_code == 302
    checked_by_worker()
    upload.refresh_from_db()
    assert (upload.tries, upload.report["acceptable"]) == (1, True)


@pytest.mark.both_databases
def test_fields_changed_during_a_check_are_kept(
    alice: User, small: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(alice)
    check = uploads.run_check

    def changed_meanwhile(**given: Any) -> bytes:
        uploads.check_again(upload=Upload.objects.get(), described=None, fields={"notes": "later"})
        return check(**given)

    monkeypatch.setattr(checking, "run_check", changed_meanwhile)
    checking.check_next()
    upload = Upload.objects.get()
    assert (upload.checked, upload.report, upload.fields, str(upload.result)) == (False, {}, {"notes": "later"}, "")


def test_an_upload_discarded_during_its_check_leaves_no_row(
    alice: User, small: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(alice)
    check = uploads.run_check

    def discarded_meanwhile(**given: Any) -> bytes:
        found = check(**given)
        uploads.discard(upload=Upload.objects.get())
        return found

    monkeypatch.setattr(checking, "run_check", discarded_meanwhile)
    assert checking.check_next()
    assert Upload.objects.count() == 0
