"""The driver of an agent's box: what it keeps of an output, what it copies, and which changes it reports."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from evaluator.testing.box import agent_driver
from evaluator.testing.box.agent_driver import Changes, command_variables, copy_writable, kept, plain


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        (b"0123456789", "0123456789"),
        (b"\xff\x00a", "\ufffd\x00a"),
        (b"01234" + b"x" * 89 + b"56789", "01234\n[... 89 bytes left out ...]\n56789"),
    ],
)
def test_a_long_output_loses_its_middle(output: bytes, shown: str) -> None:
    assert kept(io.BytesIO(output), 10) == shown
    assert plain("\ud800a") == "?a"


def test_the_copy_is_writable_and_keeps_links_and_programs(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "a.py").write_text("a")
    (source / "run.sh").write_text("b")
    (source / "folder").symlink_to("deep")
    (source / "dangling").symlink_to("/nowhere")
    (source / "deep" / "a.py").chmod(0o444)
    (source / "run.sh").chmod(0o555)
    (source / "deep").chmod(0o555)
    copy = tmp_path / "copy"
    copy_writable(source, copy)
    modes = {path.name: path.stat().st_mode & 0o777 for path in copy.rglob("*") if not path.is_symlink()}
    assert modes == {"deep": 0o700, "a.py": 0o644, "run.sh": 0o755}
    assert ((copy / "folder").readlink(), (copy / "dangling").readlink()) == (Path("deep"), Path("/nowhere"))


def test_an_environment_with_its_own_shell_gets_no_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_driver, "BOX", Path("/box"))
    monkeypatch.setattr(agent_driver, "HOME", Path("/home"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/own")
    monkeypatch.setenv("PYTHONPATH", "/ours")
    lent = command_variables()
    assert (lent["PATH"], lent["LD_LIBRARY_PATH"]) == (f"{tmp_path}:/home/bin:/box/tools/bin", "/own:/box/tools/lib")
    assert (lent["HOME"], "PYTHONPATH" in lent) == ("/home", False)
    (tmp_path / "sh").touch(mode=0o755)
    own = command_variables()
    assert (own["PATH"], own["LD_LIBRARY_PATH"]) == (f"{tmp_path}:/home/bin", "/own")


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


def news(changes: Changes) -> dict[str, Any] | None:
    """The reported changes, with contents as bytes and without empty lists; None if nothing is new."""
    found = changes.news()
    if not found:
        return None
    found["changed"] = {path: content.tobytes() for path, content in found["changed"]}
    return {key: value for key, value in found.items() if value}


def test_changes_are_reported_when_they_differ_from_the_last_report(changes: Changes, place: Path) -> None:
    assert news(changes) is None
    before = (place / "a.py").stat()
    (place / "a.py").write_text("A\n")
    os.utime(place / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    (place / "new.py").write_text("new\n")
    for name in (".git", "__pycache__"):
        (place / name).mkdir()
        (place / name / "file").touch()
    assert news(changes) == {"changed": {"a.py": b"A\n", "new.py": b"new\n"}}
    assert news(changes) is None
    shutil.rmtree(place / "deep")
    (place / "link").unlink()
    (place / "a.py").write_text("a\n")
    assert news(changes) == {"changed": {"new.py": b"new\n"}, "deleted": ["deep/b.py", "link"]}


def test_links_pipes_and_large_files_are_refused(
    changes: Changes, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_driver, "MAX_FILE_BYTES", 100)
    (place / "etc").symlink_to("/etc/passwd")
    os.mkfifo(place / "pipe")
    (place / "large.py").write_bytes(b"x" * 101)
    (place / os.fsdecode(b"\xff.py")).touch()
    (place / "a.py").unlink()
    (place / "a.py").symlink_to("deep/b.py")
    assert news(changes) == {
        "refused": [
            ["a.py", "is a link or special file"],
            ["etc", "is a link or special file"],
            ["large.py", "is larger than 0 KB"],
            ["pipe", "is a link or special file"],
            ["?.py", "has a name that is too long or not text"],
        ]
    }


def test_litter_does_not_crowd_out_the_repository_s_own_files(
    changes: Changes, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_driver, "MAX_NEW_FILES", 2)
    monkeypatch.setattr(agent_driver, "MAX_NEW_BYTES", 11)
    monkeypatch.setattr(agent_driver, "MAX_CHANGED_BYTES", 8)
    for number in range(3):
        (place / f"{number}.txt").write_text("12345")
    (place / "a.py").write_text("123456")
    (place / "deep" / "b.py").write_text("123456")
    many = "comes after too many or too large other changes"
    assert news(changes) == {
        "changed": {"0.txt": b"12345", "1.txt": b"12345", "a.py": b"123456"},
        "refused": [["2.txt", many], ["deep/b.py", many]],
    }


def test_a_listing_that_was_cut_short_reports_no_deletions(
    changes: Changes, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_driver, "MAX_ENTRIES", 1)
    assert news(changes) is None
