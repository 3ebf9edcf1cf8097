"""Write and read the archive of a backup: a tar that is written and read as a stream, with a checksum at its end.

Its members, in order: ``backup.json`` (what it is), ``rows/…`` (gzipped lines of JSON), ``content/…`` (stored files by
digest), ``end.json`` (the number of members before it, and their checksum). Without the last one it is incomplete.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD: Final = "backup.json"
END: Final = "end.json"
FORMAT: Final = 1
"""Raised when older programs could not read the archive."""
TAIL_BYTES: Final = 64 * 1024
"""The end of an archive is within its last bytes: ``end.json`` and the padding of a tar."""
_HEAD_BYTES: Final = 16 * 1024 * 1024
_PIECE: Final = 1024 * 1024
_DAMAGE: Final = (tarfile.TarError, EOFError, zlib.error, ValueError, OverflowError)
"""What reading bytes that are no backup raises. ValueError: of JSON and of text encodings, too."""


class BackupError(Exception):
    """Raised for an archive that cannot be read or restored; the message says why and what to do."""


class _Hashed:
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self.digest.update(piece)
        return piece


class _Counted:
    """A stream that knows how much was written, as tarfile wants it.

    Unlike tarfile's own stream, it writes nothing more when an error has ended the backup.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._written = 0

    def write(self, piece: bytes) -> int:
        self._written += len(piece)
        return self._stream.write(piece)

    def tell(self) -> int:
        return self._written


class _Sum:
    """The checksum of members: of their names, sizes and contents, in order."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.members = 0

    def add(self, name: str, size: int, digest: str) -> None:
        self._digest.update(f"{name} {size} {digest}\n".encode())
        self.members += 1

    def as_data(self) -> dict[str, Any]:
        return {"members": self.members, "sha256": self._digest.hexdigest()}


class Writer:
    """Write an archive to a stream that need not be seekable."""

    def __init__(self, stream: IO[bytes], *, modified: float) -> None:
        self._tar = tarfile.TarFile(fileobj=cast("Any", _Counted(stream)), mode="w")
        self._modified = modified
        self._sum = _Sum()

    def add(self, name: str, content: bytes | Path) -> None:
        """Add a member. Raises OSError."""
        if isinstance(content, bytes):
            self._add(name, len(content), io.BytesIO(content))
            return
        with content.open("rb") as file:
            self._add(name, content.stat().st_size, file)

    def _add(self, name: str, size: int, file: IO[bytes]) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mtime, member.mode = size, int(self._modified), 0o600
        hashed = _Hashed(file)
        self._tar.addfile(member, cast("Any", hashed))
        self._sum.add(name, size, hashed.digest.hexdigest())

    def end(self, *, missing: int = 0) -> None:
        """Write the checksum and how many stored files are ``missing``, and finish. Raises OSError."""
        self.add(END, json.dumps({**self._sum.as_data(), "missing": missing}).encode())
        self._tar.close()


class Member(NamedTuple):
    """A member of an archive while it is read."""

    name: str
    size: int
    file: Any

    def pieces(self) -> Iterator[bytes]:
        """Yield the content. Raises BackupError."""
        with _explained():
            while piece := self.file.read(_PIECE):
                yield piece


class Reader:
    """Read an archive from a stream."""

    def __init__(self, stream: IO[bytes]) -> None:
        with _explained():
            self._tar = tarfile.open(fileobj=stream, mode="r|")  # noqa: SIM115 - a stream has nothing to close
            self._sum = _Sum()
            first = self._next()
            if first is None or first.name != HEAD or first.size > _HEAD_BYTES:
                raise ValueError("its first part is missing")
            self.head: dict[str, Any] = json.loads(b"".join(first.pieces()))
            self._close(first)
        if not isinstance(self.head, dict) or self.head.get("format") != FORMAT:
            msg = f"This file is no backup, or of another format than {FORMAT}, which this version of LMR-Board reads."
            raise BackupError(msg)

    def __iter__(self) -> Iterator[Member]:
        """Yield the members after the head; check at the end that all are there and whole. Raises BackupError."""
        with _explained():
            while member := self._next():
                if member.name == END:
                    end = json.loads(b"".join(member.pieces()))
                    if not isinstance(end, dict) or not end.items() >= self._sum.as_data().items():
                        raise ValueError("its checksum differs")
                    return
                yield member
                self._close(member)
            raise ValueError("it has no end: it was not written completely")

    def _next(self) -> Member | None:
        found = self._tar.next()
        if found is None:
            return None
        self._tar.members = []  # type: ignore[attr-defined]  # it would keep all of them
        file = self._tar.extractfile(found)
        if file is None:
            raise ValueError(f"{found.name!r} is no file")
        return Member(found.name, found.size, _Hashed(file))

    def _close(self, member: Member) -> None:
        for _ in member.pieces():
            pass
        self._sum.add(member.name, member.size, member.file.digest.hexdigest())


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise BackupError(f"This is not a whole backup: {error}.") from error


def missing_at(tail: bytes) -> int | None:
    """Return how many stored files an archive lacks, from its last bytes; None if they do not contain its end."""
    start = tail.rfind(END.encode() + b"\0")
    try:
        with tarfile.open(fileobj=io.BytesIO(tail[start:]), mode="r:") as tar:
            member = tar.next()
            file = tar.extractfile(member) if member else None
            return int(json.loads(file.read())["missing"]) if start >= 0 and file else None
    except (*_DAMAGE, KeyError, TypeError):
        return None
