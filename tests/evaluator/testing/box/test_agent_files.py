"""Reading and editing a file as an agent does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluator.testing.box import agent_files
from evaluator.testing.box.agent_files import RefusedError, edit, read

LIMIT = 10_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text("one\ntwo\nthree\ntwo\n")
    return path


@pytest.mark.parametrize(
    ("first", "last", "limit", "expected"),
    [
        (0, 0, LIMIT, "one\ntwo\nthree\ntwo"),
        (2, 3, LIMIT, "(lines 2 to 3 of 4)\ntwo\nthree"),
        (3, 99, LIMIT, "(lines 3 to 4 of 4)\nthree\ntwo"),
        (0, 2, LIMIT, "(lines 1 to 2 of 4)\none\ntwo"),
        (0, 0, 9, "(lines 1 to 2 of 4; read on from line 3)\none\ntwo"),
        (3, 4, 4, "(line 3 of 4 has 5 characters; its beginning)\nthre"),
    ],
)
def test_lines_are_shown_as_asked_for(file: Path, first: int, last: int, limit: int, expected: str) -> None:
    assert read(file, first, last, limit) == expected


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [(5, 0, "the file has 4 lines, so there is no line 5"), (3, 2, "last_line (2) comes before first_line (3)")],
)
def test_lines_that_are_not_there(file: Path, first: int, last: int, message: str) -> None:
    with pytest.raises(RefusedError) as error:
        read(file, first, last, LIMIT)
    assert str(error.value) == message


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert read(tmp_path / "empty", 0, 0, LIMIT) == "(the file is empty)"


def test_windows_line_ends_are_shown_as_plain_ones_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "windows.py"
    path.write_bytes(b"one\r\ntwo\r\n")
    assert read(path, 0, 0, LIMIT) == "one\ntwo"
    assert edit(path, "one\ntwo\n", "1\n2\n3\n") == "Edited from line 1: 2 lines replaced by 3 lines."
    assert path.read_bytes() == b"1\r\n2\r\n3\r\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x00\x01", "this is a binary file: look at it with run"),
        (b"\xff\xfe", "this is a binary file: look at it with run"),
        (b"x" * 101, "the file is larger than 0 MB: look at parts of it with run"),
    ],
)
def test_what_is_no_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    monkeypatch.setattr(agent_files, "MAX_READ_BYTES", 100)
    (tmp_path / "data").write_bytes(content)
    with pytest.raises(RefusedError) as error:
        read(tmp_path / "data", 0, 0, LIMIT)
    assert str(error.value) == message
    with pytest.raises(RefusedError) as error:
        edit(tmp_path / "data", "x", "y")
    assert str(error.value) == message


def test_folders_and_pipes_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RefusedError, match="this is a folder"):
        read(tmp_path, 0, 0, LIMIT)
    with pytest.raises(RefusedError, match="this is a folder"):
        edit(tmp_path, "", "text")
    with pytest.raises(RefusedError, match="no regular file"):
        read(tmp_path / "pipe", 0, 0, LIMIT)
    with pytest.raises(RefusedError, match="no regular file"):
        edit(tmp_path / "pipe", "", "text")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing", 0, 0, LIMIT)


def test_an_edit_replaces_the_only_match(file: Path) -> None:
    file.chmod(0o755)
    assert edit(file, "three\n", "3\nand more\n") == "Edited from line 3: 1 line replaced by 2 lines."
    assert file.read_text() == "one\ntwo\n3\nand more\ntwo\n"
    assert file.stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in file.parent.iterdir()) == ["a.py"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("four", "4", "`old` does not occur in the file: it must match exactly, spaces and line ends included"),
        ("two", "2", "`old` occurs 2 times (at lines 2, 4): add lines around it until it is the only one"),
        ("one", "one", "`new` is the same as `old`: nothing to change"),
    ],
)
def test_an_edit_that_is_not_clear_changes_nothing(file: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(RefusedError) as error:
        edit(file, old, new)
    assert str(error.value) == message
    assert file.read_text() == "one\ntwo\nthree\ntwo\n"


def test_an_empty_old_writes_the_whole_file(file: Path) -> None:
    assert edit(file, "", "new\n") == "Overwrote the file: 1 line."
    new = file.parent / "deep" / "new.py"
    assert edit(new, "", "a\nb") == "Created the file: 2 lines."
    assert (file.read_text(), new.read_text()) == ("new\n", "a\nb")


def test_a_file_that_would_be_too_long_stays(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_files, "MAX_EDIT_BYTES", 30)
    with pytest.raises(RefusedError, match="larger than"):
        edit(file, "one", "x" * 30)
    assert file.read_text() == "one\ntwo\nthree\ntwo\n"


def test_a_full_disk_does_not_cost_what_was_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_bytes

    def half(path: Path, content: bytes) -> int:
        write(path, content[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match="No space"):
        edit(file, "one", "1")
    assert file.read_text() == "one\ntwo\nthree\ntwo\n"
    assert sorted(path.name for path in file.parent.iterdir()) == ["a.py"]
