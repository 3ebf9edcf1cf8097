"""What an agent changed in its copy of the repository, told piece by piece."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from evaluator.testing.box import agent_changes
from evaluator.testing.box.agent_changes import Changes


@pytest.fixture
def place(tmp_path: Path) -> Path:
    pristine = tmp_path / "pristine"
    (pristine / "deep").mkdir(parents=True)
    (pristine / "a.py").write_text("a\n")
    (pristine / "deep" / "b.py").write_text("b\n")
    (pristine / "link").symlink_to("a.py")
    shutil.copytree(pristine, tmp_path / "place", symlinks=True)
    return tmp_path / "place"


@pytest.fixture
def changes(place: Path) -> Changes:
    return Changes(place.parent / "pristine", place)


def news(changes: Changes) -> dict[str, Any]:
    """The news with contents as bytes, without what is empty."""
    told: dict[str, Any] = changes.news()
    told["changed"] = {path: content.tobytes() for path, content in told["changed"]}
    return {key: value for key, value in told.items() if value}


def test_a_fresh_copy_has_no_news(changes: Changes) -> None:
    assert news(changes) == {}


def test_every_change_is_told_once(changes: Changes, place: Path) -> None:
    (place / "a.py").write_text("A\n")
    (place / "new.py").write_text("new\n")
    assert news(changes) == {"changed": {"a.py": b"A\n", "new.py": b"new\n"}}
    assert news(changes) == {}
    (place / "a.py").write_text("AA\n")
    assert news(changes) == {"changed": {"a.py": b"AA\n"}}


def test_what_is_undone_is_told_too(changes: Changes, place: Path) -> None:
    (place / "a.py").write_text("A\n")
    (place / "new.py").write_text("new\n")
    news(changes)
    (place / "a.py").write_text("a\n")
    (place / "new.py").unlink()
    assert news(changes) == {"restored": ["new.py", "a.py"]}
    assert news(changes) == {}


def test_deleted_files_are_told_until_they_are_back(changes: Changes, place: Path) -> None:
    (place / "deep" / "b.py").write_text("B\n")
    news(changes)
    shutil.rmtree(place / "deep")
    (place / "link").unlink()
    assert news(changes) == {"restored": ["deep/b.py"], "deleted": ["deep/b.py", "link"]}
    (place / "deep").mkdir()
    (place / "deep" / "b.py").write_text("b\n")
    assert news(changes) == {"deleted": ["link"]}


def test_a_change_with_the_same_size_and_time_is_seen(changes: Changes, place: Path) -> None:
    before = (place / "a.py").stat()
    (place / "a.py").write_text("x\n")
    os.utime(place / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert news(changes) == {"changed": {"a.py": b"x\n"}}


def test_links_pipes_and_large_files_are_refused(
    changes: Changes, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_changes, "MAX_FILE_BYTES", 100)
    (place / "etc").symlink_to("/etc/passwd")
    os.mkfifo(place / "pipe")
    (place / "large.py").write_bytes(b"x" * 101)
    (place / os.fsdecode(b"\xff.py")).touch()
    (place / "a.py").unlink()
    (place / "a.py").symlink_to("deep/b.py")
    refused = [
        ["a.py", "is a link or special file"],
        ["etc", "is a link or special file"],
        ["large.py", "is larger than 0 KB"],
        ["pipe", "is a link or special file"],
        ["?.py", "has a name that is too long or no text"],
    ]
    assert news(changes) == {"refused": refused}
    (place / "large.py").write_bytes(b"x")
    (place / "etc").unlink()
    refused = [pair for pair in refused if pair[0] not in {"etc", "large.py"}]
    assert news(changes) == {"changed": {"large.py": b"x"}, "refused": refused}


def test_litter_does_not_crowd_out_the_repository_s_own_files(
    changes: Changes, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_changes, "MAX_NEW_FILES", 2)
    monkeypatch.setattr(agent_changes, "MAX_BYTES", 10)
    for number in range(3):
        (place / f"{number}.txt").write_text("12345")
    assert news(changes) == {
        "changed": {"0.txt": b"12345", "1.txt": b"12345"},
        "refused": [["2.txt", "comes after 2 other new files"]],
    }
    (place / "a.py").write_text("123456")
    (place / "deep" / "b.py").write_text("123456")
    assert news(changes) == {
        "changed": {"a.py": b"123456"},
        "refused": [["2.txt", "comes after 2 other new files"], ["deep/b.py", "comes after 0 MB of others"]],
    }


def test_caches_are_passed_over(changes: Changes, place: Path) -> None:
    for name in (".git", "__pycache__"):
        (place / name).mkdir()
        (place / name / "file").touch()
    assert news(changes) == {}


def test_more_entries_than_are_looked_at_delete_nothing(
    changes: Changes, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_changes, "MAX_ENTRIES", 1)
    assert "deleted" not in news(changes)
