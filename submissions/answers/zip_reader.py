"""Reading a zip file strictly, from the format itself (PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16).

The standard library's reader loads the whole central directory whatever its size, believes it over the local headers
and lets entries overlap; a bundle needs none of that, so what is unusual is refused instead of interpreted.
"""

from __future__ import annotations

import stat
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from submissions.answers.intake import Intake

_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END_MAGIC, _CENTRAL_MAGIC, _LOCAL_MAGIC = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04"
_LONGEST_COMMENT = 0xFFFF
_ENTRY_ALLOWANCE = _CENTRAL.size + 512
_ENCRYPTED_FLAGS = 0x0001 | 0x0040 | 0x2000
_SIZES_FOLLOW_FLAG = 0x0008
_STORED, _DEFLATED = 0, 8
_UNIX, _DOS_FOLDER = 3, 0x10


@dataclass(frozen=True, slots=True)
class _Entry:
    name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    made_by: int
    attributes: int


def read_zip(data: bytes, intake: Intake) -> None:
    """Feed every regular file of the zip in ``data`` to ``intake``. Raises BundleError."""
    ranges: list[tuple[int, int, bytes]] = []
    directory_start, directory = _central_directory(data, intake)
    for entry in _entries(directory, intake):
        kind = _special_kind(entry)
        if kind:
            intake.special(entry.name, kind)
        elif entry.name.endswith(b"/"):
            intake.folder(entry.name)
        else:
            start = _data_start(data, entry, directory_start, intake)
            ranges.append((entry.offset, start + entry.packed, entry.name))
            _read_entry(data, start, entry, intake)
    _refuse_overlaps(ranges, intake)


def _central_directory(data: bytes, intake: Intake) -> tuple[int, bytes]:
    position = data.rfind(_END_MAGIC, max(0, len(data) - _END.size - _LONGEST_COMMENT))
    if position < 0 or position + _END.size > len(data):
        intake.fatal("The zip file is cut off or damaged (its directory is missing); pack and upload it again.")
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(data, position)
    if 0xFFFF in (here, count) or 0xFFFFFFFF in (size, start):
        intake.fatal("The zip file uses the zip64 form, which a bundle of this size does not need; pack it plainly.")
    if disk or first_disk or here != count:
        intake.fatal("The zip file is one part of several; send one whole file.")
    if count > intake.limits.entries or size > intake.limits.entries * _ENTRY_ALLOWANCE:
        intake.fatal(f"The archive has more than {intake.limits.entries} entries; send only the answers.")
    if start + size != position or position + _END.size + comment != len(data):
        intake.fatal("The zip file's directory is not where it says (damaged, or something is stuck before or after).")
    return start, data[start:position]


def _entries(directory: bytes, intake: Intake) -> Iterator[_Entry]:
    position = 0
    while position < len(directory):
        if len(directory) - position < _CENTRAL.size or not directory.startswith(_CENTRAL_MAGIC, position):
            intake.fatal("The zip file's directory is damaged; pack and upload it again.")
        fields = _CENTRAL.unpack_from(directory, position)
        name_end = position + _CENTRAL.size + fields[10]
        next_entry = name_end + fields[11] + fields[12]
        if next_entry > len(directory):
            intake.fatal("The zip file's directory is damaged; pack and upload it again.")
        yield _Entry(
            name=directory[position + _CENTRAL.size : name_end],
            made_by=fields[1] >> 8,
            flags=fields[3],
            method=fields[4],
            crc=fields[7],
            packed=fields[8],
            size=fields[9],
            attributes=fields[15],
            offset=fields[16],
        )
        position = next_entry


def _special_kind(entry: _Entry) -> str:
    """What the entry's attributes say it is, when that is neither a file nor a folder."""
    is_folder = entry.name.endswith(b"/")
    if entry.made_by == _UNIX:
        kind = stat.S_IFMT(entry.attributes >> 16)
        if kind == stat.S_IFLNK:
            return "symbolic link"
        if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
            return "special file"
    return "folder with data" if is_folder and entry.size else ""


def _data_start(data: bytes, entry: _Entry, directory_start: int, intake: Intake) -> int:
    """Where the entry's data begin, after checking that its local header says what the directory says."""
    start, name = entry.offset, entry.name.decode("ascii", "backslashreplace")[:200]
    if start + _LOCAL.size > directory_start or not data.startswith(_LOCAL_MAGIC, start):
        intake.fatal("The zip file's directory points at no file header; pack and upload it again.", file=name)
    _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack_from(data, start)
    name_start = start + _LOCAL.size
    content_start: int = name_start + name_length + extra_length
    agrees = data[name_start : name_start + name_length] == entry.name and (flags, method) == (
        entry.flags,
        entry.method,
    )
    stated = (crc, packed, size)
    expected = {(entry.crc, entry.packed, entry.size)}
    if flags & _SIZES_FOLLOW_FLAG:
        expected.add((0, 0, 0))
    if not agrees or stated not in expected:
        intake.fatal("The zip file's directory and the file's own header disagree; pack it again.", file=name)
    if content_start + entry.packed > directory_start:
        intake.fatal("The zip file is cut off inside this file; pack and upload it again.", file=name)
    return content_start


def _read_entry(data: bytes, start: int, entry: _Entry, intake: Intake) -> None:
    name = intake.file(entry.name)
    if name is None:
        return
    if entry.flags & _ENCRYPTED_FLAGS:
        intake.special(entry.name, "encrypted file")
    elif entry.method not in (_STORED, _DEFLATED):
        intake.special(entry.name, f"file packed with method {entry.method} (use plain deflate)")
    elif entry.size > intake.cap(name):
        intake.too_big(name)
    else:
        packed = data[start : start + entry.packed]
        content = packed if entry.method == _STORED else _inflate(packed, entry, name, intake)
        intake.spend(len(content))
        if len(content) != entry.size or zlib.crc32(content) != entry.crc:
            intake.fatal("The file is damaged (size or checksum wrong); pack and upload it again.", file=name)
        intake.keep(name, content)


def _inflate(packed: bytes, entry: _Entry, name: str, intake: Intake) -> bytes:
    """The unpacked content, at most one byte more than the entry's stated size (which is within its cap)."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = inflater.decompress(packed, entry.size + 1)
    except zlib.error:
        intake.fatal("The file is damaged (it does not unpack); pack and upload it again.", file=name)
    if len(content) <= entry.size and (inflater.unused_data or inflater.unconsumed_tail or not inflater.eof):
        intake.fatal("The file is damaged (its packed data end elsewhere); pack and upload it again.", file=name)
    return content


def _refuse_overlaps(ranges: list[tuple[int, int, bytes]], intake: Intake) -> None:
    """Entries that share data are how a small zip unpacks to far more than its size."""
    previous_end = 0
    for start, end, name in sorted(ranges):
        if start < previous_end:
            intake.fatal(
                "Two files of the zip share the same data; pack it again.", file=name.decode("ascii", "replace")
            )
        previous_end = end
