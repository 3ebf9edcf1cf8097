"""Whether the newest backup is recent, of the usual size, and complete."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import time_machine

from leaderboard.backup.archive import Writer
from leaderboard.doctor import backups
from leaderboard.doctor.findings import Finding, ok, warning
from tests.bucket import made_bucket

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_django import Settings

TODO = "Run manage.py backup every night (deploy/systemd, or docs/operating.md, “Backup”), and read its output."
ON_ONE_DISK = "Keep backups on another disk, better in another building, or copy them there."


@pytest.fixture(autouse=True)
def _morning() -> Iterator[None]:
    with time_machine.travel("2026-03-05 08:30:00+00:00", tick=False):
        yield


@pytest.fixture
def folder(settings: Settings, tmp_path: Path) -> Path:
    made = tmp_path / "backups"
    made.mkdir()
    settings.DATA_DIR = tmp_path / "none"
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, backups=made)
    return made


def archive(size: int, missing: int = 0) -> bytes:
    stream = io.BytesIO()
    writer = Writer(stream, modified=1.0)
    writer.add("backup.json", b"{}")
    writer.add("rows", b"\0" * size)
    writer.end(missing=missing)
    return stream.getvalue()


def found() -> list[Finding]:
    return list(backups.findings())


def test_a_recent_and_complete_one_is_in_order(folder: Path) -> None:
    (folder / "lmr-board-20260304T020000Z.tar").write_bytes(archive(100))
    (folder / "lmr-board-20260305T020000Z.tar").write_bytes(archive(100))
    assert found() == [ok("backups", f"2 in {folder}; the newest is 6 hours old and has 10.0 KB")]


def test_none_is_a_warning(folder: Path) -> None:
    assert found() == [warning("backups", f"there is none in {folder}", TODO)]
    folder.rmdir()
    assert found() == [warning("backups", f"there is none in {folder}", TODO)]


def test_an_old_one_is_a_warning(folder: Path) -> None:
    (folder / "lmr-board-20260303T203000Z.tar").write_bytes(archive(100))
    text = f"1 in {folder}; the newest is 36 hours old and has 10.0 KB"
    assert found() == [ok("backups", text)]
    with time_machine.travel("2026-03-05 08:30:01+00:00", tick=False):
        assert found() == [warning("backups", text, TODO)]


def test_an_incomplete_one_is_a_warning(folder: Path) -> None:
    (folder / "lmr-board-20260305T020000Z.tar").write_bytes(archive(20_000)[:15_000])
    text = f"1 in {folder}; the newest is 6 hours old and has 14.6 KB, but it is incomplete"
    assert found() == [warning("backups", text, TODO)]


def test_one_that_lacks_files_is_a_warning(folder: Path) -> None:
    (folder / "lmr-board-20260305T020000Z.tar").write_bytes(archive(100, missing=3))
    (finding,) = found()
    assert finding.found.endswith("has 10.0 KB, but lacks 3 stored files")


def test_a_small_one_is_a_warning(folder: Path) -> None:
    (folder / "lmr-board-20260304T020000Z.tar").write_bytes(archive(100_000))
    (folder / "lmr-board-20260305T020000Z.tar").write_bytes(archive(100))
    (finding,) = found()
    assert finding.found.endswith("has 10.0 KB, less than half of the one before it")
    assert "restore lmr-board-20260305T020000Z.tar --check" in finding.todo


def test_the_disk_of_the_data_is_a_warning(folder: Path, settings: Settings) -> None:
    settings.DATA_DIR = folder.parent
    (folder / "lmr-board-20260305T020000Z.tar").write_bytes(archive(100))
    assert found()[1:] == [warning("backups", f"{folder} is on the disk of DATA_DIR", ON_ONE_DISK)]


def test_a_place_that_cannot_be_read_is_a_warning(settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, backups="s3+http://k:s@127.0.0.1:1/b")
    (finding,) = found()
    assert finding.found.startswith("http://127.0.0.1:1/b/ cannot be read: The storage at http://127.0.0.1:1")
    assert finding.todo == "Correct BACKUPS, or repair that place."


def test_a_bucket_is_looked_into(settings: Settings, s3_place: str) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, backups=made_bucket(s3_place))
    (finding,) = found()
    assert finding.found.startswith(f"there is none in http://{s3_place}/b")


def test_without_the_setting_there_is_no_backup(settings: Settings) -> None:
    (finding,) = found()
    assert (finding.state, finding.found) == ("warning", "BACKUPS is not set")


def test_worker_hosts_make_none(settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, pools=["tests"])
    assert found() == []
