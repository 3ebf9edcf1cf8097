"""Checks of disks, memory and data folder."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.enums import Protocol
from benchmark_tasks.models import TaskRevision
from leaderboard.doctor import machine
from leaderboard.doctor.findings import Finding, State, failed, ok, warning
from tests.evaluator.conftest import small_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django import Settings

    from benchmark_tasks.models import SuiteVersion

__all__ = ["small_version"]
GIB = 2**30
ROOM = "Make room there, or put the folder on a larger disk."


def one(found: Iterator[Finding]) -> Finding:
    (finding,) = found
    return finding


@pytest.mark.parametrize(
    ("free", "total", "state"),
    [
        (10 * GIB, 100 * GIB, State.OK),
        (10 * GIB - 1, 20 * GIB, State.WARNING),
        (99 * GIB, 1000 * GIB, State.WARNING),
        (1 * GIB, 20 * GIB, State.WARNING),
        (GIB - 1, 20 * GIB, State.FAILED),
    ],
)
def test_free_space_is_judged(free: int, total: int, state: State) -> None:
    found = machine.judged_space("disk of X", "so much", free, total)
    assert found == Finding("disk of X", state, "so much", "" if state is State.OK else ROOM)


def test_the_disk_of_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    space = os.statvfs(tmp_path)
    total = space.f_blocks * space.f_frsize / GIB
    found = machine.disk("X", tmp_path / "a/b")
    assert found.name == "disk of X"
    assert found.found.endswith(f" GB of {total:.1f} GB free at {tmp_path}/a/b")


@pytest.fixture
def other_disk() -> Iterator[Path]:
    """A folder on a file system of its own, which every Linux has."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def test_the_boxes_disk_is_named_if_it_is_another_one(settings: Settings, other_disk: Path) -> None:
    assert [each.name for each in machine.disks()] == ["disk of DATA_DIR"]
    (other_disk / "sandbox").symlink_to(settings.DATA_DIR / "sandbox")
    settings.DATA_DIR = other_disk
    assert [each.name for each in machine.disks()] == ["disk of DATA_DIR", "disk of boxes"]


class TestMemory:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        (tmp_path / "proc").mkdir()
        (tmp_path / "proc/meminfo").write_text(
            "MemTotal:        4018232 kB\nMemFree:          190396 kB\nMemAvailable:    3145728 kB\n"
            "HugePages_Total:       0\nHugepagesize:       2048 kB\n"
        )
        return tmp_path

    @pytest.mark.django_db
    def test_boxes_fit(self, root: Path) -> None:
        assert one(machine.memory(root)) == ok(
            "memory", "3.0 GB of 3.8 GB available; boxes may use 1.0 GB (2 workers with up to 512 MB each)"
        )

    def test_the_largest_task_counts(self, root: Path, small_version: SuiteVersion) -> None:
        revision = TaskRevision.objects.get(task__index=1)
        revision.check_settings["memory_mb"] = 2048
        revision.save()
        found = "3.0 GB of 3.8 GB available; boxes may use 4.0 GB (2 workers with up to 2048 MB each)"
        todo = "Set WORKERS to a smaller number, or give the host more memory."
        assert one(machine.memory(root)) == warning("memory", found, todo)
        TaskRevision.objects.filter(task__index=2).update(protocol=Protocol.UPSTREAM)
        assert one(machine.memory(root)).found.endswith("boxes may use 8.0 GB (2 workers with up to 4096 MB each)")

    @pytest.mark.django_db
    def test_workers_count(self, root: Path, settings: Settings) -> None:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, workers=7)
        assert one(machine.memory(root)).state is State.WARNING


class TestDataFolder:
    @pytest.fixture
    def folder(self, settings: Settings, tmp_path: Path) -> Path:
        settings.DATA_DIR = tmp_path / "data"
        (tmp_path / "data").mkdir(mode=0o700)
        return tmp_path / "data"

    def test_a_private_folder(self, folder: Path) -> None:
        (folder / "db.sqlite3").touch(mode=0o600)
        assert one(machine.data_folder()) == ok("data folder", f"{folder}, mode 0700")

    def test_no_folder(self, folder: Path) -> None:
        folder.rmdir()
        found = f"{folder} does not exist"
        assert one(machine.data_folder()) == failed("data folder", found, "Run make setup, or correct DATA_DIR.")

    def test_a_folder_that_others_may_enter(self, folder: Path) -> None:
        folder.chmod(0o750)
        found = f"{folder}, mode 0750: other users may enter it"
        assert one(machine.data_folder()) == failed("data folder", found, f"chmod 700 {folder}")

    def test_files_that_are_open_to_others(self, folder: Path) -> None:
        for name in ("b", "a", "private"):
            (folder / name).touch()
            (folder / name).chmod(0o600 if name == "private" else 0o644)
        (folder / "link").symlink_to("a")
        found = f"{folder}, mode 0700; modes of files in it are open to others: a, b"
        todo = "make run removes other users' access, or: chmod 600."
        assert one(machine.data_folder()) == warning("data folder", found, todo)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    def test_a_folder_of_another_user(self, folder: Path) -> None:
        os.chown(folder, 60000, 60000)
        assert one(machine.data_folder()) == failed(
            "data folder",
            f"{folder}, mode 0700 belongs to user 60000; this is user 0",
            "Run all programs of the instance as one user, or give the folder to this one (chown -R).",
        )
