"""Django's file fields on the content store."""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage

from benchmark_tasks.domain import content
from benchmark_tasks.domain.bucket import StorageUnavailableError
from leaderboard.models import AnswersFile
from tests.benchmark_tasks.factories import SuiteFactory
from tests.migrating import models_at
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, UploadFactory

BYTES = b"some bytes"
ANSWERS = {
    "changed": 1,
    "entries": [],
    "digest": "d" * 64,
    "size": 1,
    "answers": 1,
    "made": datetime(2026, 1, 2, tzinfo=UTC),
}
DIGEST = hashlib.sha256(BYTES).hexdigest()


@pytest.mark.parametrize("given", [ContentFile(BYTES), File(io.BytesIO(BYTES)), io.BytesIO(BYTES)])
def test_a_file_is_named_by_its_digest(given: Any) -> None:
    given.seek(4)  # as after an earlier reader
    assert default_storage.save("../../a name", given) == DIGEST
    assert (default_storage.exists(DIGEST), default_storage.size(DIGEST)) == (True, len(BYTES))
    with default_storage.open(DIGEST) as opened:
        assert opened.read() == BYTES
    assert Path(default_storage.path(DIGEST)) == content.file_path(DIGEST)


def test_deleting_keeps_what_another_row_may_name() -> None:
    default_storage.save("a", ContentFile(BYTES))
    default_storage.delete(DIGEST)
    assert default_storage.exists(DIGEST)
    assert not default_storage.exists("0" * 64)


def test_a_bucket_that_does_not_answer_is_no_missing_file(settings: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url="s3+http://k:s@127.0.0.1:1/b")
    with pytest.raises(StorageUnavailableError):
        default_storage.exists(DIGEST)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_an_upgrade_adopts_the_files_of_earlier_versions_and_leaves_them(data_dir: Path) -> None:
    answer = ImplementationFactory(trajectory="trajectories/2026/01/a.trajectory")
    rows: list[Any] = [
        (UploadFactory(file="uploads/2026/01/a.bundle", result="uploads/2026/01/a.checked"), "file", "result"),
        (SubmissionFactory(bundle="bundles/2026/01/a.bundle"), "bundle"),
        (answer, "trajectory"),
        (AnswersFile.objects.create(suite=SuiteFactory(), **ANSWERS, file="answers/a.zip"), "file"),
    ]
    named = {(row, field): str(getattr(row, field)) for row, *fields in rows for field in fields}
    for name in named.values():
        place = data_dir / "media" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(name, encoding="utf-8")
    lost, without = UploadFactory(file="uploads/lost"), SubmissionFactory(bundle="")
    for app, before in (("submissions", "0017_events_name_annotators"), ("leaderboard", "0018_newest_rows")):
        with models_at(app, before):
            pass
    for row in (*[row for row, *_ in rows], lost, without):
        row.refresh_from_db()
    for (row, field), name in named.items():
        stored = getattr(row, field)
        assert stored.name == hashlib.sha256(name.encode()).hexdigest()
        assert Path(stored.path).read_text(encoding="utf-8") == name
        assert (data_dir / "media" / name).read_text(encoding="utf-8") == name
    assert (str(lost.file), str(without.bundle)) == ("uploads/lost", "")


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.django_db(transaction=True)
def test_a_rollback_gives_earlier_versions_the_files_that_rows_name(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    if not linked:
        monkeypatch.setattr(os, "link", Mock(side_effect=OSError("another file system")))
    stored = default_storage.save("a", ContentFile(BYTES))
    UploadFactory(file=stored, result=stored)
    SubmissionFactory(bundle="0" * 64)  # a file that the store lacks
    media = data_dir / "media"
    with models_at("submissions", "0017_events_name_annotators"):
        assert {file.name: file.read_bytes() for file in media.iterdir()} == {DIGEST: BYTES}
        assert (media / DIGEST).samefile(content.file_path(DIGEST)) == linked
        (media / DIGEST).unlink()  # as earlier versions remove files
    assert default_storage.exists(DIGEST)
