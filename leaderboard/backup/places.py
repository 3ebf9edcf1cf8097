"""Keep backups in the folder or bucket that ``BACKUPS`` names, and remove the oldest."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Final, NamedTuple, Protocol

from django.conf import settings
from django.core.cache import cache
from django.utils import timezone

from benchmark_tasks.domain.bucket import StorageUnavailableError, bucket_at
from leaderboard.backup.archive import TAIL_BYTES, missing_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from benchmark_tasks.domain.bucket import Bucket

_NAME: Final = "lmr-board-%Y%m%dT%H%M%SZ.tar"
_NEWEST: Final = "newest-backup"
_LOOK_SECONDS: Final = 600
_DRAFT_SECONDS: Final = 24 * 3600


class Kept(NamedTuple):
    """A backup: its name, when it was made, and its bytes."""

    name: str
    made: datetime
    size: int


class Place(Protocol):
    """Where backups are. Every method raises StorageUnavailableError, OSError."""

    @property
    def address(self) -> str:
        """Return it for operators, without secrets."""

    def listed(self) -> Iterator[tuple[str, int]]:
        """Yield names and sizes."""

    def opened(self, name: str, *, last: int = 0) -> AbstractContextManager[IO[bytes]]:
        """Open a file as a stream; ``last``: only this many bytes of its end."""

    def written(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Return a stream to a new file, which appears only when all of it is written."""

    def delete(self, name: str) -> None:
        """Delete a file."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder on this host."""

    path: Path

    @property
    def address(self) -> str:
        """Return the path."""
        return str(self.path)

    def listed(self) -> Iterator[tuple[str, int]]:
        """Yield the files; none if the folder does not exist yet."""
        for each in self.path.iterdir() if self.path.exists() else ():
            if each.is_file():
                yield each.name, each.stat().st_size

    @contextmanager
    def opened(self, name: str, *, last: int = 0) -> Iterator[IO[bytes]]:
        """Open the file."""
        with (self.path / name).open("rb") as file:
            if last:
                file.seek(max(0, file.seek(0, os.SEEK_END) - last))
            yield file

    @contextmanager
    def written(self, name: str) -> Iterator[IO[bytes]]:
        """Write beside the name, then rename. Drafts that killed processes left are removed after a day."""
        self.path.mkdir(parents=True, exist_ok=True)
        for left in self.path.glob(".*.tar.part"):
            if time.time() - left.stat().st_mtime > _DRAFT_SECONDS:
                left.unlink(missing_ok=True)
        draft = self.path / f".{name}.part"
        try:
            with draft.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.rename(self.path / name)
        finally:
            draft.unlink(missing_ok=True)

    def delete(self, name: str) -> None:
        """Delete the file."""
        (self.path / name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class InBucket:
    """A bucket, or the part of it below its prefix."""

    bucket: Bucket

    @property
    def address(self) -> str:
        """Return the address of server, bucket and prefix."""
        return f"{self.bucket.address}/{self.bucket.name}/{self.bucket.prefix}"

    def listed(self) -> Iterator[tuple[str, int]]:
        """Yield the objects."""
        return ((each.key, each.size) for each in self.bucket.listed())

    def opened(self, name: str, *, last: int = 0) -> AbstractContextManager[IO[bytes]]:
        """Read the object while it arrives."""
        return self.bucket.opened(name, last=last)

    @contextmanager
    def written(self, name: str) -> Iterator[IO[bytes]]:
        """Send what is written while it is written: a backup may be larger than this host's disk."""
        outgoing, incoming = os.pipe()
        sending = _Sending(self.bucket, name, os.fdopen(outgoing, "rb"))
        try:
            with os.fdopen(incoming, "wb") as stream:
                sending.start()
                yield stream
                stream.flush()
                sending.complete = True
        except BrokenPipeError:
            sending.join()
            if sending.error is None:
                raise
        finally:
            sending.join()
        if sending.error is not None:
            raise sending.error

    def delete(self, name: str) -> None:
        """Delete the object."""
        self.bucket.delete([name])


class _Sending(threading.Thread):
    """Send the output end of a pipe to a bucket. The object is made only if the pipe ended after ``complete``."""

    def __init__(self, bucket: Bucket, key: str, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True, name=f"send {key}")
        self.complete = False
        self.error: Exception | None = None
        self._bucket, self._key, self._pipe = bucket, key, pipe

    def run(self) -> None:
        """Send until the pipe ends."""
        try:
            with self._pipe:
                self._bucket.send_stream(self._key, self)
        except Exception as error:  # noqa: BLE001 - it is raised in the thread that writes
            self.error = error

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises OSError at the end of what was not written completely, which stops sending."""
        piece = self._pipe.read(size)
        if not piece and not self.complete:
            raise OSError("the backup was not written completely")
        return piece


def configured() -> Place | None:
    """Return the place that ``BACKUPS`` names; None if it is empty."""
    named = settings.ENVIRONMENT.backups
    if not named:
        return None
    return Folder(named) if isinstance(named, os.PathLike) else InBucket(bucket_at(named))


def kept(place: Place) -> list[Kept]:
    """Return the backups, newest first. Raises StorageUnavailableError, OSError."""
    found = []
    for name, size in place.listed():
        with suppress(ValueError):  # another file
            found.append(Kept(name, datetime.strptime(name, _NAME).replace(tzinfo=UTC), size))
    return sorted(found, key=lambda each: each.made, reverse=True)


def newest_made() -> datetime | None:
    """Return when the newest backup was made; None without ``BACKUPS``, and 1970 if there is none or none can be read.

    A place is looked into every ten minutes at most: a bucket may be slow.
    """
    place = configured()
    if place is None:
        return None
    made: datetime | None = cache.get(_NEWEST)
    if made is None:
        try:
            made = kept(place)[0].made
        except (IndexError, StorageUnavailableError, OSError):
            made = datetime.fromtimestamp(0, UTC)
        cache.set(_NEWEST, made, _LOOK_SECONDS)
    return made


def new_name() -> str:
    """Return the name of a backup that is made now."""
    return timezone.now().astimezone(UTC).strftime(_NAME)


def missing_in(place: Place, name: str) -> int | None:
    """Return how many stored files a backup lacks; None if it has no end. Raises StorageUnavailableError, OSError."""
    with place.opened(name, last=TAIL_BYTES) as end:
        return missing_at(end.read())


def remove_oldest(place: Place, *, keep: int) -> list[Kept]:
    """Remove all but the ``keep`` newest whole backups, and return what was removed.

    Those that lack stored files, or their end, never push out a whole one; of them the ``keep`` newest stay as well.
    Raises StorageUnavailableError, OSError.
    """
    stay = {True: keep, False: keep}
    removed = []
    for each in kept(place):
        whole = missing_in(place, each.name) == 0
        stay[whole] -= 1
        if stay[whole] < 0:
            place.delete(each.name)
            removed.append(each)
    return removed
