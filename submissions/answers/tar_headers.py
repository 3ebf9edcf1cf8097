"""Read the headers of a tar stream in time and memory proportional to their size.

The standard library's reader trusts headers before its caller sees them: it skips the 100 GB that a pax record
declares, and reads overlapping records for hours.
"""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FOLDER: Final = "folder"
LINK: Final = "symbolic link"
_SPARSE: Final = "sparse file"
_KINDS: Final = {
    tarfile.DIRTYPE: FOLDER,
    tarfile.LNKTYPE: "hard link",
    tarfile.SYMTYPE: LINK,
    tarfile.CHRTYPE: "character device",
    tarfile.BLKTYPE: "block device",
    tarfile.FIFOTYPE: "named pipe",
    tarfile.GNUTYPE_SPARSE: _SPARSE,
    **dict.fromkeys((tarfile.REGTYPE, tarfile.AREGTYPE), ""),
}
_WITHOUT_CONTENT: Final = frozenset(
    (tarfile.DIRTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)
)
_PAX: Final = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE)
_LONG_NAMES: Final = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_MOST_EXTENDED: Final = 1024 * 1024
"""Bytes of one extended header: a long name, dates, and other metadata of a file."""
_OLD_SPARSE_CONTINUES, _SPARSE_MAP_CONTINUES = 482, 504
"""Offsets of the flag that one more block of a sparse file's map follows."""
_LENGTH: Final = re.compile(rb"([1-9][0-9]{0,9}) ")


class _Stream(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Header:
    """An entry of a tar. An empty ``kind`` is a regular file. ``size`` bytes of content follow."""

    name: str
    kind: str
    size: int


def read_headers(stream: _Stream) -> Iterator[Header]:
    """Yield every entry up to the end mark. Callers must read its content from ``stream`` before the next one.

    Raises tarfile.TarError, EOFError or ValueError for a damaged or truncated archive.
    """
    always: dict[str, bytes] = {}
    block = read_exactly(stream, tarfile.BLOCKSIZE)
    extended: dict[bytes, dict[str, bytes]] = {}
    while block.strip(b"\0"):
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if info.type in (*_PAX, *_LONG_NAMES):
            # Real packers write at most one of each kind before an entry.
            if info.type in extended or not 0 <= info.size <= _MOST_EXTENDED:
                raise tarfile.ReadError("an extended header that no packer writes")
            extended[info.type] = _extended(info, read_exactly(stream, _blocks(info.size))[: info.size])
            always |= extended[info.type] if info.type == tarfile.XGLTYPE else {}
        else:
            if info.type == tarfile.GNUTYPE_SPARSE:
                _skip_sparse_map(stream, block)
            records = {key: value for each in (always, *extended.values()) for key, value in each.items()}
            yield _header(info, records)
            extended = {}
        block = stream.read(tarfile.BLOCKSIZE)
        if block and len(block) < tarfile.BLOCKSIZE:
            raise EOFError
    if extended:
        raise EOFError


def read_exactly(stream: _Stream, size: int) -> bytes:
    """Return ``size`` bytes. Raises EOFError if there are fewer."""
    content = stream.read(size)
    if len(content) != size:
        raise EOFError
    return content


def _blocks(size: int) -> int:
    return -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


def _header(info: tarfile.TarInfo, records: Mapping[str, bytes]) -> Header:
    path = records.get("GNU.sparse.name", records.get("path"))
    name = info.name if path is None else path.decode("utf-8", "surrogateescape").rstrip("/")
    size = int(records["size"]) if "size" in records else info.size
    if size < 0:
        raise ValueError("a negative size")
    is_sparse = any(key.startswith("GNU.sparse.") for key in records)
    kind = _SPARSE if is_sparse else _KINDS.get(info.type, "entry of an unknown kind")
    return Header(name.rstrip("/") if kind == FOLDER else name, kind, 0 if info.type in _WITHOUT_CONTENT else size)


def _skip_sparse_map(stream: _Stream, block: bytes) -> None:
    continues = block[_OLD_SPARSE_CONTINUES]
    while continues:
        continues = read_exactly(stream, tarfile.BLOCKSIZE)[_SPARSE_MAP_CONTINUES]


def _extended(info: tarfile.TarInfo, content: bytes) -> dict[str, bytes]:
    """Return the records of an extended header, which apply to the next entry or to all that follow."""
    if info.type in _LONG_NAMES:
        return {"path": content.partition(b"\0")[0]} if info.type == tarfile.GNUTYPE_LONGNAME else {}
    records: dict[str, bytes] = {}
    at = 0
    while at < len(content):
        length = _LENGTH.match(content, at)
        end = at + int(length[1]) if length else 0
        if length is None or not length.end() < end <= len(content) or content[end - 1 : end] != b"\n":
            raise ValueError("a damaged pax record")
        key, _, value = content[length.end() : end - 1].partition(b"=")
        records[key.decode("utf-8", "surrogateescape")] = value
        at = end
    return records
