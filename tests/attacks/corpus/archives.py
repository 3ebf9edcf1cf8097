"""Archives that no honest program writes, made byte by byte. For the attacks in ``uploads``."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

REGULAR: Final = stat.S_IFREG | 0o644


def zip_of(*files: tuple[str, bytes] | tuple[str, bytes, int]) -> bytes:
    """A zip of (name, content[, Unix mode]); names may come twice, and are not made safe."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        seen: set[str] = set()
        for name, content, *mode in files:
            entry = zipfile.ZipInfo(name)
            entry.create_system, entry.compress_type = 3, zipfile.ZIP_DEFLATED
            entry.external_attr = (mode[0] if mode else REGULAR) << 16
            if name in seen:  # the standard library would warn
                archive.NameToInfo.pop(name, None)
            archive.writestr(entry, content)
            seen.add(name)
    return buffer.getvalue()


def tar_of(*members: tuple[str, bytes, bytes, str, int]) -> bytes:
    """A tar.gz of (name, kind, content, link target, mode)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind, content, target, mode in members:
            entry = tarfile.TarInfo(name)
            entry.type, entry.size, entry.linkname, entry.mode = kind, len(content), target, mode
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def tar_files(files: Mapping[str, bytes]) -> bytes:
    """A tar.gz of plain files."""
    return tar_of(*((name, tarfile.REGTYPE, content, "", 0o644) for name, content in files.items()))


def tar_header(name: bytes, size: int, kind: bytes = b"0") -> bytes:
    """One block of a tar that states any size."""
    fields = name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + b"%011o\0" % size + b"00000000000\0"
    header = (fields + b" " * 8 + kind + b"\0" * 100 + b"ustar\x0000").ljust(512, b"\0")
    return header[:148] + b"%06o\0 " % sum(header) + header[156:]


def gzip_bomb(head: bytes, size: int) -> bytes:
    """``head`` and ``size`` zeros, compressed without ever holding them in memory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [packer.compress(head)]
    chunk = bytes(4 * 1024 * 1024)
    pieces += [packer.compress(chunk) for _ in range(size // len(chunk))]
    return b"".join([*pieces, packer.flush()])


def overlapping_zip(name: bytes, content: bytes, copies: int) -> bytes:
    """Many lines of the directory that point at one and the same data."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(content) + packer.flush()
    crc = zlib.crc32(content)
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, crc, len(packed), len(content), len(name), 0)
    body = local + name + packed
    line = struct.pack(
        "<4s6H3L5H2L",
        b"PK\x01\x02", 20, 20, 0, 8, 0, 0, crc, len(packed), len(content), len(name), 0, 0, 0, 0, 0, 0,
    )  # fmt: skip
    central = (line + name) * copies
    return body + central + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, copies, copies, len(central), len(body), 0)
