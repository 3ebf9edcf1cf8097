"""Reading a gzip-compressed tar strictly, block by block (POSIX pax, IEEE Std 1003.1-2017; GNU long names).

The standard library's reader takes extended headers of any size into memory, follows chains of them by recursion and
knows many forms that a bundle does not need. Here the decompressed stream itself is capped before anything is read.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from submissions.answers.intake import Intake

_BLOCK = 512
_CHUNK = 64 * 1024
_LONGEST_EXTENDED_HEADER = 64 * 1024
_FILE, _FOLDER, _PAX, _PAX_GLOBAL, _GNU_LONG_NAME = (b"0", b"\0"), b"5", b"x", b"g", b"L"
_KINDS = {
    b"1": "hard link",
    b"2": "symbolic link",
    b"3": "character device",
    b"4": "block device",
    b"6": "named pipe",
    b"7": "contiguous file",
    b"K": "link with a long target",
    b"S": "sparse file",
}


class _GzipStream:
    """The decompressed bytes of a gzip file, read in pieces; every byte is counted before it is handed out."""

    def __init__(self, data: bytes, intake: Intake) -> None:
        self._data = memoryview(data)
        self._position = 0
        self._intake = intake
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._buffer = bytearray()
        self._pending = b""

    def read(self, size: int) -> bytes:
        """Exactly ``size`` bytes, or fewer at the stream's end."""
        while len(self._buffer) < size and self._fill():
            pass
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def skip(self, size: int) -> bool:
        """Discard ``size`` bytes without keeping them; false when the stream ends before."""
        while size > 0:
            wanted = min(size, _CHUNK)
            if len(self.read(wanted)) < wanted:
                return False
            size -= wanted
        return True

    def _fill(self) -> bool:
        if self._inflater.eof:
            # Some packers write several gzip members one after the other; anything else behind the end is ignored.
            self._pending = self._inflater.unused_data or self._pending
            if not self._refill() or not self._pending.startswith(b"\x1f\x8b"):
                return False
            self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        elif not self._refill():
            self._intake.fatal("The tar.gz file is cut off; pack and upload it again.")
        try:
            piece = self._inflater.decompress(self._pending, _CHUNK)
        except zlib.error:
            self._intake.fatal("The tar.gz file is damaged (it does not unpack); pack and upload it again.")
        self._pending = self._inflater.unconsumed_tail
        self._intake.spend(len(piece))
        self._buffer += piece
        return True

    def _refill(self) -> bool:
        if not self._pending:
            self._pending = bytes(self._data[self._position : self._position + _CHUNK])
            self._position += len(self._pending)
        return bool(self._pending)


def read_tar_gz(data: bytes, intake: Intake) -> None:
    """Feed every regular file of the tar.gz in ``data`` to ``intake``. Raises BundleError."""
    stream = _GzipStream(data, intake)
    extended: dict[str, bytes] = {}
    while True:
        header = stream.read(_BLOCK)
        if not header.strip(b"\0"):
            if not header:
                intake.fatal("The tar file is cut off (its end mark is missing); pack and upload it again.")
            # To the end of the stream, so that gzip's checksum is looked at too.
            while stream.skip(_CHUNK):
                pass
            return
        size = _checked_size(header, intake)
        kind = header[156:157]
        if kind in (_PAX, _PAX_GLOBAL, _GNU_LONG_NAME):
            intake.count_entry()
            content = _extended_header(stream, size, intake)
            if kind == _PAX:
                extended |= _pax_records(content, intake)
            elif kind == _GNU_LONG_NAME:
                extended["path"] = content.rstrip(b"\0")
        else:
            _read_entry(stream, header, size, extended, intake)
            extended = {}


def _checked_size(header: bytes, intake: Intake) -> int:
    """The size field of a header whose checksum is right."""
    unsigned = sum(header[:148]) + sum(header[156:]) + 8 * ord(" ")
    size = _octal(header[124:136])
    if len(header) != _BLOCK or _octal(header[148:156]) != unsigned or size is None:
        intake.fatal("The tar file is damaged (a header does not add up); pack and upload it again.")
    return size


def _octal(field: bytes) -> int | None:
    digits = field.strip(b" \0")
    if not digits:
        return 0
    if any(digit not in b"01234567" for digit in digits):
        return None
    return int(digits, 8)


def _extended_header(stream: _GzipStream, size: int, intake: Intake) -> bytes:
    if size > _LONGEST_EXTENDED_HEADER:
        intake.fatal(f"The tar file has an extended header of {size} bytes; pack it plainly.")
    content = stream.read(size)
    if len(content) != size or not stream.skip(-size % _BLOCK):
        intake.fatal("The tar file is cut off; pack and upload it again.")
    return content


def _pax_records(content: bytes, intake: Intake) -> dict[str, bytes]:
    """The records ``"<length> <key>=<value>\\n"`` of a pax header that matter here."""
    records: dict[str, bytes] = {}
    position = 0
    while position < len(content):
        space = content.find(b" ", position, position + 8)
        digits = content[position:space] if space > 0 else b""
        end = position + int(digits) if digits.isdigit() else 0
        key, equals, value = content[space + 1 : end].partition(b"=")
        if end > len(content) or not equals or not value.endswith(b"\n"):
            intake.fatal("The tar file is damaged (an extended header does not read); pack and upload it again.")
        if key.startswith(b"GNU.sparse") or key in (b"path", b"size"):
            records[key.decode("ascii", "replace")] = value[:-1]
        position = end
    return records


def _read_entry(stream: _GzipStream, header: bytes, size: int, extended: dict[str, bytes], intake: Intake) -> None:
    raw_name = extended.get("path") or _header_name(header)
    if "size" in extended:
        size = _pax_size(extended["size"], intake)
    kind = header[156:157]
    name = None
    if any(key.startswith("GNU.sparse") for key in extended):
        intake.special(raw_name, "sparse file")
    elif kind == _FOLDER or (kind in _FILE and raw_name.endswith(b"/")):
        intake.folder(raw_name)
    elif kind in _FILE:
        name = intake.file(raw_name)
    else:
        intake.special(raw_name, _KINDS.get(kind, "entry of an unknown kind"))
    if name is not None and size > intake.cap(name):
        intake.too_big(name)
        name = None
    content = stream.read(size) if name is not None else b""
    whole = stream.skip(-size % _BLOCK if name is not None else size + -size % _BLOCK)
    if not whole or (name is not None and len(content) != size):
        intake.fatal("The tar file is cut off inside this file; pack and upload it again.", file=name or "")
    if name is not None:
        intake.keep(name, content)


def _header_name(header: bytes) -> bytes:
    name = header[:100].split(b"\0", 1)[0]
    prefix = header[345:500].split(b"\0", 1)[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _pax_size(value: bytes, intake: Intake) -> int:
    if not value.isdigit() or len(value) > 15:
        intake.fatal("The tar file is damaged (a size is not a number); pack and upload it again.")
    return int(value)
