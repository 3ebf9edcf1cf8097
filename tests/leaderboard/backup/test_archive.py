"""The archive of a backup: whole ones are read, and every damage is noticed."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.backup.archive import TAIL_BYTES, BackupError, Reader, Writer, missing_at

if TYPE_CHECKING:
    from pathlib import Path

HEAD = b'{"format": 1, "made": "today"}'
MEMBERS = [("rows/a/0", b"first"), ("content/files/" + "f" * 64, b"\0" * 3000), ("rows/" + "long" * 40, b"")]
NOT_WHOLE = "This is not a whole backup"


def archive(head: bytes = HEAD) -> bytes:
    stream = io.BytesIO()
    writer = Writer(stream, modified=1.0)
    writer.add("backup.json", head)
    for name, content in MEMBERS:
        writer.add(name, content)
    writer.end(missing=2)
    return stream.getvalue()


def read(data: bytes) -> tuple[object, list[tuple[str, bytes]]]:
    reader = Reader(io.BytesIO(data))
    return reader.head, [(member.name, b"".join(member.pieces())) for member in reader]


WHOLE = archive()
READ = ({"format": 1, "made": "today"}, MEMBERS)


def test_members_are_read_as_they_were_written() -> None:
    assert read(WHOLE) == READ


def test_any_tar_reads_it_too() -> None:
    with tarfile.open(fileobj=io.BytesIO(WHOLE)) as tar:
        assert tar.getnames() == ["backup.json", *(name for name, _ in MEMBERS), "end.json"]


def test_a_file_is_added_like_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 2_000_000)
    stream = io.BytesIO()
    writer = Writer(stream, modified=1.0)
    writer.add("backup.json", HEAD)
    writer.add("content", tmp_path / "file")
    writer.end()
    assert read(stream.getvalue())[1] == [("content", b"x" * 2_000_000)]


def test_members_need_not_be_read() -> None:
    assert [member.name for member in Reader(io.BytesIO(WHOLE))] == [name for name, _ in MEMBERS]


@given(st.integers(0, len(WHOLE) - 1))
def test_a_part_of_an_archive_is_refused(size: int) -> None:
    with tarfile.open(fileobj=io.BytesIO(WHOLE)) as tar:
        end = tar.getmember("end.json")
    part = WHOLE[:size]
    if size >= end.offset_data + end.size:  # only the padding is gone
        assert read(part) == READ
    else:
        with pytest.raises(BackupError, match=NOT_WHOLE):
            read(part)
        assert missing_at(part) is None


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_changes_nothing(place: int, difference: int) -> None:
    changed = bytearray(WHOLE)
    changed[place] ^= difference
    try:
        found = read(bytes(changed))
    except BackupError:
        return
    assert found == READ


@given(st.binary(max_size=2000))
def test_other_bytes_are_no_backup(data: bytes) -> None:
    with pytest.raises(BackupError):
        read(data)
    assert missing_at(data) is None


def test_an_archive_with_a_member_left_out_is_refused() -> None:
    stream, source = io.BytesIO(), tarfile.open(fileobj=io.BytesIO(WHOLE))  # noqa: SIM115 - in memory
    with tarfile.open(fileobj=stream, mode="w") as target:
        for each in source:
            if each.name != "rows/a/0":
                target.addfile(each, source.extractfile(each))
    with pytest.raises(BackupError, match=f"{NOT_WHOLE}: its checksum differs"):
        read(stream.getvalue())


@pytest.mark.parametrize("head", [b'{"format": 2}', b"[]", b"{}"])
def test_another_format_is_refused(head: bytes) -> None:
    with pytest.raises(BackupError, match="of another format than 1"):
        read(archive(head))


def test_a_tar_of_something_else_is_refused() -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("folder"))
    with pytest.raises(BackupError, match=f"{NOT_WHOLE}: its first part is missing"):
        read(stream.getvalue())


def test_the_end_of_a_complete_archive_is_found_in_its_last_bytes() -> None:
    assert missing_at(WHOLE) == missing_at(WHOLE[-TAIL_BYTES:]) == missing_at(WHOLE[-10240:]) == 2
    assert missing_at(WHOLE[:-10240]) is None
    assert missing_at(b"") is None
