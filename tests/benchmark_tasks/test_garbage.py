"""Removing stored files that no row names, and noticing those that rows name but the store lacks."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile

from benchmark_tasks.domain import content, garbage
from benchmark_tasks.domain.bucket import StorageUnavailableError, bucket
from benchmark_tasks.domain.content import put_file, put_tree
from benchmark_tasks.domain.garbage import Blob, compare, missing, sweep, sweep_when_due
from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.models import TaskRevision
from tests.benchmark_tasks.factories import write_suite
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, UploadFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_memory() -> Iterator[None]:
    """Forget earlier sweeps."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(params=["local", "bucket"])
def where(request: pytest.FixtureRequest) -> str:
    """Each test runs on both kinds of store."""
    if request.param == "bucket":
        request.getfixturevalue("storage_url")
    return str(request.param)


@pytest.fixture
def all_old(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything in the store be older than the grace period: a bucket's times cannot be set."""
    monkeypatch.setattr(garbage, "GRACE", timedelta(seconds=-60))


def imported(folder: Path) -> TaskRevision:
    import_suite(folder=write_suite(folder), slug="small")
    return TaskRevision.objects.order_by("pk")[0]


def test_everything_that_rows_name_is_known(where: str, tmp_path: Path) -> None:
    revision = imported(tmp_path / "suite")
    upload, submission = UploadFactory(), SubmissionFactory(suite_version=revision.suite_versions.get())
    answer = ImplementationFactory(submission=submission, revision=revision)
    for row, field in ((upload, "file"), (upload, "result"), (submission, "bundle"), (answer, "trajectory")):
        getattr(row, field).save("x", ContentFile(f"{field}".encode()))
    orphan, orphaned_tree = put_file(b"orphan"), put_tree({"a": b"orphan"})
    found = compare()
    assert set(found.named.values()) == {
        *("Upload.file", "Upload.result", "Submission.bundle", "Implementation.trajectory"),
        *("TaskRevision.repository_hash", "TaskRevision.grading_hash", "TaskRevision.paper_hash"),
    }
    assert {each.blob for each in found.unnamed} == {Blob("files", orphan), Blob("trees", orphaned_tree)}
    assert (found.missing, missing()) == ({}, [])
    sizes = {name: each.size for each, name in found.named.items()}
    assert (sizes["Upload.file"], sizes["Submission.bundle"]) == (len("file"), len("bundle"))


@pytest.mark.usefixtures("all_old")
def test_what_no_row_names_is_removed_and_the_rest_stays(tmp_path: Path) -> None:
    revision = imported(tmp_path / "suite")
    kept = {each.blob for each in garbage.stored(bucket())}
    put_file(b"orphan")
    put_tree({"a": b"orphan"})
    assert len(sweep().unnamed) == 2
    assert {each.blob for each in garbage.stored(bucket())} == kept
    assert content.tree_path(revision.repository_hash).is_dir()


def test_young_content_stays_for_its_row(where: str) -> None:
    found = put_file(b"young")
    assert [each.blob for each in sweep().unnamed] == [Blob("files", found)]
    assert content.file_path(found).read_bytes() == b"young"


def test_storing_content_again_starts_its_grace_period_again() -> None:
    found = put_file(b"orphan")
    long_ago = time.time() - content.GRACE.total_seconds() - 60
    os.utime(content.file_path(found), (long_ago, long_ago))
    put_file(b"orphan")
    sweep()
    assert content.file_path(found).read_bytes() == b"orphan"
    os.utime(content.file_path(found), (long_ago, long_ago))
    sweep()
    assert content.written("files", found) is None


@pytest.mark.usefixtures("all_old")
def test_content_stored_again_during_the_sweep_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    found = put_file(b"orphan")
    # The listing saw it when it was old; it has been stored since.
    monkeypatch.setattr(garbage, "GRACE", timedelta(days=1))
    (old,) = garbage.stored(bucket())
    monkeypatch.setattr(garbage, "stored", lambda _: [old._replace(modified=old.modified - timedelta(days=2))])
    sweep()
    assert content.written("files", found) is not None


@pytest.mark.usefixtures("all_old")
def test_a_row_without_its_file_is_noticed_until_it_is_back(tmp_path: Path) -> None:
    revision = imported(tmp_path / "suite")
    submission = SubmissionFactory()
    submission.bundle.save("x", ContentFile(b"bundle"))
    content.remove("files", str(submission.bundle))
    content.remove("trees", revision.grading_hash)
    sweep()
    assert sorted(missing()) == [
        ("Submission.bundle", Blob("files", str(submission.bundle))),
        ("TaskRevision.grading_hash", Blob("trees", revision.grading_hash)),
    ]
    put_file(b"bundle")
    import_suite(folder=tmp_path / "suite", slug="small")
    compare()
    assert missing() == []


def test_a_name_from_before_the_content_store_is_missing(where: str) -> None:
    SubmissionFactory(bundle="bundles/2026/01/x.bundle")
    assert compare().missing == {Blob("files", "bundles/2026/01/x.bundle"): "Submission.bundle"}


def test_what_is_written_during_the_comparison_is_not_missing(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named = garbage.named

    def written_meanwhile() -> dict[Blob, str]:
        SubmissionFactory(bundle=put_file(b"meanwhile"))
        return named()

    monkeypatch.setattr(garbage, "named", written_meanwhile)
    assert (compare().missing, missing()) == ({}, [])


def test_the_sweep_is_due_once_a_day_and_stays_due_when_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fails() -> None:
        calls.append("swept")
        if len(calls) == 1:
            raise StorageUnavailableError("away")

    monkeypatch.setattr(garbage, "sweep", fails)
    with pytest.raises(StorageUnavailableError):
        sweep_when_due()
    sweep_when_due()
    sweep_when_due()
    assert calls == ["swept"] * 2


def test_derived_files_are_removed_from_the_bucket_after_a_month(
    storage_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = bucket()
    assert shared is not None
    (tmp_path / "kit").write_bytes(b"kit")
    shared.send("derived/kits/a.zip", tmp_path / "kit")
    sweep()
    assert [each.key for each in shared.listed()] == ["derived/kits/a.zip"]
    monkeypatch.setattr(garbage, "DERIVED_STAY", timedelta(seconds=-60))
    sweep()
    assert list(shared.listed()) == []
