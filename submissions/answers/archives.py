"""Read uploaded zip and tar.gz files entry by entry, in bounded time and memory; nothing is unpacked to disk."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from submissions.answers.protection import MAX_PATH_DEPTH, MAX_PATH_LENGTH
from submissions.answers.tar_headers import FOLDER, LINK, read_exactly, read_headers
from submissions.answers.types import BundleError, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MEGABYTE = 1024 * 1024
MAX_FILE_BYTES = _MEGABYTE
"""Files of a repository that are longer are data: they are no part of an answer, and are not even read."""

_ZIP, _EMPTY_ZIP, _GZIP = b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b"
_ZIP_DIRECTORY_LINE = b"PK\x01\x02"
_ENCRYPTED, _UNIX = 1, 3
_CHUNK = 64 * 1024
_SHOWN_NAME = 120
_DAMAGE = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error),
    *(EOFError, OSError, ValueError, IndexError, OverflowError, RuntimeError, MemoryError),
)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What reading one upload may cost. Sizes are bytes.

    28 tasks x 10 trials x 3 files are 840 members; a folder as trajectory has one for each event. ``entries`` also
    counts folders and what macOS adds beside each file. The ratio is held over the whole archive, above a floor that
    small, repetitive logs need.
    """

    upload: int = 20 * _MEGABYTE
    total: int = 50 * _MEGABYTE
    member: int = _MEGABYTE
    trajectory: int = 8 * _MEGABYTE
    members: int = 6000
    entries: int = 8000
    ratio: int = 100
    ratio_floor: int = _MEGABYTE
    path: int = MAX_PATH_LENGTH
    depth: int = MAX_PATH_DEPTH
    problems: int = 100


BUNDLE_LIMITS = ArchiveLimits()
TREE_LIMITS = ArchiveLimits(
    upload=100 * _MEGABYTE,
    total=1024 * _MEGABYTE,
    member=MAX_FILE_BYTES,
    trajectory=MAX_FILE_BYTES,
    members=60_000,
    entries=60_000,
    path=400,
    depth=40,
)
"""The bounds of an output tree where the operator sets no others. Nothing beyond 1 MB is read, so data cost little."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an archive: a regular file, unless ``kind`` says otherwise.

    ``read`` gives its content, of ``size`` bytes; of a tar's entry only before the next one is asked for.
    """

    name: str
    kind: str
    size: int
    read: Callable[[], bytes]


def is_packed(data: bytes) -> bool:
    """Whether this is the beginning of a zip or gzip file."""
    return data.startswith((_ZIP, _EMPTY_ZIP, _GZIP))


def entries(data: bytes, limits: ArchiveLimits) -> Iterator[Entry]:
    """Every entry of the zip or tar.gz in ``data``. Raises BundleError where it is damaged, or costs too much."""
    budget = _Budget(limits, compressed_size=len(data))
    too_many = refuse(f"The archive has more than {limits.entries} entries; send only the answers.")
    is_zip = data.startswith((_ZIP, _EMPTY_ZIP))
    # The zip module makes an object of each line before anybody can count them.
    if is_zip and data.count(_ZIP_DIRECTORY_LINE) > limits.entries:
        raise BundleError([too_many])
    with _damage_refused():
        found = _zip_entries(data, budget) if is_zip else _tar_entries(data, budget)
        for number, entry in enumerate(found, start=1):
            if number > limits.entries:
                raise BundleError([too_many])
            yield entry


def readable(size: int) -> str:
    """A size in bytes as people write it: ``1 GB``, ``20 MB``, ``64 KB``, ``12 bytes``."""
    if size >= 1024 * _MEGABYTE:
        return f"{size / (1024 * _MEGABYTE):.3g} GB"
    if size >= _MEGABYTE:
        return f"{size / _MEGABYTE:.3g} MB"
    return f"{size // 1024} KB" if size >= 1024 else f"{size} bytes"


def shown_name(name: str) -> str:
    """A foreign name, printable and short enough for a message."""
    text = "".join(c if " " <= c <= "~" else f"\\x{ord(c):02x}" for c in name[: _SHOWN_NAME + 1])
    return text if len(text) <= _SHOWN_NAME else text[:_SHOWN_NAME] + "..."


class _Budget:
    """Counts unpacked bytes."""

    def __init__(self, limits: ArchiveLimits, *, compressed_size: int) -> None:
        self.allowed = min(limits.total, max(limits.ratio_floor, limits.ratio * compressed_size))
        self._left = self.allowed
        self._is_total = self.allowed == limits.total
        self._ratio = limits.ratio

    def spend(self, size: int) -> None:
        """Count ``size`` bytes. Raises BundleError when total or ratio are passed."""
        if size > self._left:
            limit = "" if self._is_total else f", {self._ratio} times its packed size"
            advice = "leave out or shorten trajectories" if self._is_total else "leave out files of repeated text"
            raise BundleError([refuse(f"The archive unpacks to more than {readable(self.allowed)}{limit}; {advice}.")])
        self._left -= size

    def require(self, name: str, size: int) -> None:
        """Raises BundleError where an entry of ``size`` bytes would pass total or ratio."""
        if size > self._left:
            message = (
                f"With this entry, which says that it holds {readable(size)}, the archive unpacks to more than "
                f"{readable(self.allowed)}; leave it out, or pack it again."
            )
            raise BundleError([refuse(message, file=shown_name(name))])


@contextmanager
def _damage_refused(file: str = "") -> Iterator[None]:
    try:
        yield
    except _DAMAGE:
        message = "The archive is damaged or cut off; pack and upload it again."
        raise BundleError([refuse(message, file=file)]) from None


def _zip_entries(data: bytes, budget: _Budget) -> Iterator[Entry]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            # Not ``filename``, which ends at the first NUL.
            name = info.orig_filename
            yield Entry(name, _zip_kind(info), info.file_size, partial(_read_zip_entry, archive, info, budget))


def _zip_kind(info: zipfile.ZipInfo) -> str:
    is_folder = info.orig_filename.endswith("/")
    if info.create_system == _UNIX:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind == stat.S_IFLNK:
            return LINK
        if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
            return "special file"
    if is_folder:
        return FOLDER
    if info.flag_bits & _ENCRYPTED:
        return "file that is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"file packed with method {info.compress_type} (use plain deflate)"
    return ""


def _read_zip_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget) -> bytes:
    with _damage_refused(shown_name(info.orig_filename)):
        with archive.open(info) as file:
            # Never more than the directory says, whatever is packed; zipfile compares the checksum at the end.
            content = file.read(info.file_size + 1)
        budget.spend(len(content))
        if len(content) != info.file_size:
            raise EOFError
    return content


class _CountedGzip(gzip.GzipFile):
    """The decompressed bytes of a gzip file; each is counted before it is handed out."""

    def __init__(self, data: bytes, budget: _Budget) -> None:
        super().__init__(fileobj=io.BytesIO(data))
        self._budget = budget

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self._budget.spend(len(data))
        return data


def _tar_entries(data: bytes, budget: _Budget) -> Iterator[Entry]:
    stream = _CountedGzip(data, budget)
    for header in read_headers(stream):
        # Before its content is passed over: a header of 290 bytes may say that 100 GB follow.
        budget.require(header.name, header.size)
        content = _TarContent(stream, header.size)
        yield Entry(header.name, header.kind, header.size, partial(content.read, shown_name(header.name)))
        content.pass_over()
    while stream.read(_CHUNK):
        pass  # to the end of the stream, so that gzip's checksum is looked at too


class _TarContent:
    """The content of a tar's entry, which is read or passed over before the next header."""

    def __init__(self, stream: _CountedGzip, size: int) -> None:
        self._stream = stream
        self._size = size
        self._left = -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE

    def read(self, name: str) -> bytes:
        """The content, once. Raises BundleError where the archive ends before it, with the file's ``name``."""
        with _damage_refused(name):
            return read_exactly(self._stream, self._take())[: self._size]

    def pass_over(self) -> None:
        """Go on to where the next header begins."""
        left = self._take()
        while left:
            left -= len(read_exactly(self._stream, min(left, _CHUNK)))

    def _take(self) -> int:
        left, self._left = self._left, 0
        return left
