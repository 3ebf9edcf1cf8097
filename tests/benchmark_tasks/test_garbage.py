"""Removing stored files that no row names, and noticing those that rows name but the store lacks."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import time_machine
from django.core.cache import cache
from django.core.files.base import ContentFile

from benchmark_tasks.domain import content, garbage
from benchmark_tasks.domain.bucket import StorageUnavailableError, bucket
from benchmark_tasks.domain.content import put_file, put_tree
from benchmark_tasks.domain.garbage import (
    Blob,
    ForeignStoreError,
    compare,
    missing,
    sweep,
    sweep_when_due,
    why_not_the_sites,
)
from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.models import SeedEpoch, TaskRevision
from tests.benchmark_tasks.factories import SuiteFactory, write_suite
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, UploadFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAY = 24 * 3600
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_memory(db: None) -> Iterator[None]:
    """Forget earlier sweeps; let the database know which instance it is."""
    cache.clear()
    SeedEpoch.objects.create(suite=SuiteFactory(), number=1)
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


def test_content_goes_a_day_after_a_sweep_found_it_unnamed_unless_it_is_stored_again() -> None:
    begun = datetime.now(UTC)
    with time_machine.travel(begun, tick=False):
        orphan, again = put_file(b"orphan"), put_file(b"again")
        old = begun.timestamp() - 30 * DAY
        for each in (orphan, again):
            os.utime(content.file_path(each), (old, old))
        sweep()
    with time_machine.travel(begun + timedelta(hours=23), tick=False):
        sweep()
        assert {each.blob.found for each in garbage.stored(None)} == {orphan, again}
        os.utime(content.file_path(again), (begun.timestamp() + 23 * 3600,) * 2)  # stored once more
    with time_machine.travel(begun + timedelta(hours=24, minutes=1), tick=False):
        sweep()
        assert {each.blob.found for each in garbage.stored(None)} == {again}


def test_a_file_whose_row_was_deleted_and_made_again_stays() -> None:
    begun = datetime.now(UTC)
    with time_machine.travel(begun, tick=False):
        found = put_file(b"bundle")
        sweep()
        row = SubmissionFactory(bundle=found)
    with time_machine.travel(begun + timedelta(days=2), tick=False):
        sweep()
        row.delete()
        sweep()  # unnamed since now only
        assert content.file_path(found).read_bytes() == b"bundle"


def test_a_store_of_another_instance_is_left_alone(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "GRACE", timedelta(seconds=-60))
    sweep()  # takes the store
    orphan = put_file(b"orphan")
    SeedEpoch.objects.update(key="another instance")
    with pytest.raises(ForeignStoreError, match="belongs to another instance's database, so nothing is removed"):
        sweep()
    SeedEpoch.objects.all().delete()
    with pytest.raises(ForeignStoreError, match="This database has no suite yet"):
        sweep()
    assert content.stored_at("files", orphan) is not None
    cache.delete("content-swept")
    sweep_when_due()  # logs it, and is not due again
    assert not cache.add("content-swept", True)


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
    assert [each.key for each in shared.listed("derived/")] == ["derived/kits/a.zip"]
    monkeypatch.setattr(garbage, "DERIVED_STAY", timedelta(seconds=-60))
    sweep()
    assert list(shared.listed("derived/")) == []


def test_a_store_without_any_of_the_tasks_is_not_the_sites(where: str, tmp_path: Path) -> None:
    assert why_not_the_sites() == ""
    imported(tmp_path / "suite")
    assert why_not_the_sites() == ""
    TaskRevision.objects.exclude(repository_hash="").update(repository_hash="0" * 64)
    assert why_not_the_sites() == (
        f"The content store {content.where()} has none of the tasks' files, so it is not the site's: "
        "set STORAGE_URL as on the site's host."
    )
