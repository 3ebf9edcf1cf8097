"""The watcher of an upstream test: its copy of the repository, and what it reads afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluator.testing.box import upstream_driver
from evaluator.testing.box.upstream_driver import changed_files, copy_tree, read_logs


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "unit_test" / "logs").mkdir(parents=True)
    (root / "unit_test" / "logs" / "unit_test_1.log").write_text("Test Passed")
    (root / "unit_test" / "unit_test_1.py").write_text("pass\n")
    (root / "data").mkdir()
    (root / "data" / "x.bin").write_bytes(bytes(5000))
    (root / "empty").mkdir()
    (root / "link").symlink_to("data")
    (root / "dangling").symlink_to("/nowhere")
    return root


def test_the_copy_has_everything_but_old_logs(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "work" / "repository"
    digests = copy_tree(source, target, leave_out="unit_test/logs")
    assert sorted(digests) == ["data/x.bin", "unit_test/unit_test_1.py"]
    assert sorted(path.relative_to(target).as_posix() for path in target.rglob("*")) == [
        "dangling",
        "data",
        "data/x.bin",
        "empty",
        "link",
        "unit_test",
        "unit_test/unit_test_1.py",
    ]
    assert (target / "link").readlink() == Path("data")
    assert changed_files(target, digests) == []


@pytest.mark.parametrize("change", ["write", "remove", "link", "folder", "pipe"])
def test_every_change_of_a_file_is_seen(change: str, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "repository"
    digests = copy_tree(source, target, leave_out="unit_test/logs")
    (target / "new.txt").write_text("new files are not protected")
    file = target / "data" / "x.bin"
    if change == "write":
        before = file.stat()
        file.write_bytes(bytes(4999) + b"1")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        copy = tmp_path / "copy"
        file.rename(copy)
        if change == "link":
            file.symlink_to(copy)
        elif change == "folder":
            file.mkdir()
        elif change == "pipe":
            os.mkfifo(file)
    assert changed_files(target, digests) == ["data/x.bin"]


def test_logs_are_read_without_following_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_driver, "MAX_LOG_BYTES", 20)
    folder = tmp_path / "logs"
    assert read_logs(folder) == []
    folder.mkdir()
    (folder / "a.log").write_bytes(b"Test Passed\xff")
    (folder / "b.log").write_text("x" * 100)
    (folder / "c.log").symlink_to(folder / "a.log")
    (folder / "d.log").mkdir()
    os.mkfifo(folder / "e.log")
    assert read_logs(folder) == [["a.log", "Test Passed\ufffd"], ["b.log", "x" * 20]]
