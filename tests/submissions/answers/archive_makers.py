"""Build archives for tests, byte by byte where the standard library would refuse to."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Mapping

MANIFEST = {"suite": "lmr-mini", "system": "Plain", "backbone": "small-model", "inputs": "full"}
GOOD_FILES: Mapping[str, bytes] = {
    "submission.json": json.dumps(MANIFEST).encode(),
    "answers/dpo/1/answer.py": b"def f(x):\n    return x\n",
}


def make_zip(files: Mapping[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def make_zip_of_infos(*items: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for info, content in items:
                archive.writestr(info, content)
    return buffer.getvalue()


def info(name: str, *, mode: int = 0o100644, system: int = 3) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.create_system = system
    made.external_attr = mode << 16
    return made


def raw_zip_entry(
    name: bytes,
    content: bytes,
    *,
    offset: int,
    flags: int = 0,
    method: int = 8,
    size: int | None = None,
    crc: int | None = None,
) -> tuple[bytes, bytes]:
    """Return one local entry and its line in the central directory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = content if method == 0 else packer.compress(content) + packer.flush()
    size = len(content) if size is None else size
    crc = zlib.crc32(content) if crc is None else crc
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, flags, method, 0, 0, crc, len(packed), size, len(name), 0)
    central = struct.pack(
        "<4s6H3L5H2L",
        b"PK\x01\x02", 20, 20, flags, method, 0, 0, crc, len(packed), size, len(name), 0, 0, 0, 0, 0, offset,
    )  # fmt: skip
    return local + name + packed, central + name


def close_zip(body: bytes, central: bytes, count: int) -> bytes:
    return body + central + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(central), len(body), 0)


def raw_zip(name: bytes, content: bytes, **options: object) -> bytes:
    body, central = raw_zip_entry(name, content, offset=0, **options)  # type: ignore[arg-type]
    return close_zip(body, central, 1)


def overlapping_zip(copies: int, content: bytes) -> bytes:
    """Return a zip with many directory lines that point at the same entry."""
    body, line = raw_zip_entry(b"answers/dpo/1/log.txt", content, offset=0)
    return close_zip(body, line * copies, copies)


def million_entries_zip(count: int = 1_000_000) -> bytes:
    """Return a zip with ``count`` directory lines, more than the end record can state."""
    body, line = raw_zip_entry(b"a.txt", b"", offset=0, method=0)
    central = line * count
    return (
        body
        + central
        + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count & 0x7FFF, count & 0x7FFF, len(central), len(body), 0)
    )


def make_tar(files: Mapping[str, bytes], *, tar_format: int = tarfile.PAX_FORMAT) -> bytes:
    return make_tar_of(
        *((tar_info(name, size=len(content)), content) for name, content in files.items()), tar_format=tar_format
    )


def tar_info(name: str, *, size: int = 0, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname = size, kind, target
    made.mtime = 1.5  # makes an extended header, as real packers do
    return made


def make_tar_of(*items: tuple[tarfile.TarInfo, bytes], tar_format: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tar_format) as archive:
        for made, content in items:
            archive.addfile(made, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def tar_header(name: bytes, size: int, kind: bytes = b"0") -> bytes:
    fields = name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + b"%011o\0" % size + b"00000000000\0"
    header = (fields + b" " * 8 + kind + b"\0" * 100 + b"ustar\x0000").ljust(512, b"\0")
    return header[:148] + b"%06o\0 " % sum(header) + header[156:]


def gzip_of_zeros(size: int, *, head: bytes = b"") -> bytes:
    """Compress ``head`` and ``size`` zero bytes with gzip, without holding them in memory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [packer.compress(head)]
    chunk = bytes(4 * 1024 * 1024)
    pieces += [packer.compress(chunk) for _ in range(size // len(chunk))]
    return b"".join([*pieces, packer.flush()])
