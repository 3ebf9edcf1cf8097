"""A fork server's files on this machine: the folders that it and its programs see, its socket, and its lock."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.sandbox import fork_server
from evaluator.sandbox.interface import BoxSpec, Mount, SandboxError
from evaluator.sandbox.trees import checked_source, link_tree

FORKS: Final = "forks"
"""Prefix of the names of all servers' control groups."""

CONTROL: Final = "/control"
"""Where a server sees the folder of its socket. Its forks see an empty folder there."""

LAUNCH: Final = "/launch"
"""Where it sees its own program and the call filter."""

START_SECONDS: Final = 60.0
"""How long a server may take to import."""

BROKEN_SECONDS: Final = 600.0
"""How long to wait before starting a server again where one could not work."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One server's folder below ``servers``: the ``number``-th of those with the same ``key``."""

    key: str
    number: int
    servers: Path

    @classmethod
    def all_below(cls, servers: Path) -> list[Slot]:
        """Return every slot that was used and has not been removed since."""
        names = sorted(lock.stem for lock in servers.glob(f"{FORKS}-*-*.lock"))
        return [cls(key, int(number), servers) for _, key, number in (name.split("-") for name in names)]

    @property
    def name(self) -> str:
        """The name of its folder and its control group."""
        return f"{FORKS}-{self.key}-{self.number}"

    @property
    def folder(self) -> Path:
        """The folder with all its files."""
        return self.servers / self.name

    @property
    def lock(self) -> Path:
        """The file whose lock its user holds."""
        return self.servers / f"{self.name}.lock"

    @property
    def broken(self) -> Path:
        """The file that explains why servers with this key do not work here."""
        return self.servers / f"{FORKS}-{self.key}.broken"

    @property
    def box(self) -> Path:
        """The folder that programs see as ``/box``, filled for each."""
        return self.folder / "box"

    @property
    def control(self) -> Path:
        """The folder of its socket and messages."""
        return self.folder / "control"

    @property
    def launch(self) -> Path:
        """The folder of its own program and the call filter."""
        return self.folder / "launch"

    @property
    def log(self) -> Path:
        """The log of everything before the server itself can report."""
        return self.folder / "log"

    def make(self, call_filter: bytes) -> None:
        """Create the folder. Only its owner may enter it; the mounts below are for a user of the box's."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700, parents=True)
        for place, mode in ((self.box, 0o755), (self.launch, 0o755), (self.control, 0o777)):
            place.mkdir()
            place.chmod(mode)
        source = Path(fork_server.__file__).read_bytes()
        for name, content in (("fork_server.py", source), ("filter.bpf", call_filter)):
            (self.launch / name).write_bytes(content)
            (self.launch / name).chmod(0o444)

    def mounts(self) -> tuple[Mount, ...]:
        """Return what the server sees read-only; it may write to :data:`CONTROL` besides these."""
        return (Mount(self.box, "/box"), Mount(self.launch, LAUNCH))

    def connect(self) -> socket.socket | None:
        """Connect to the server; ``None`` if it does not answer. Raises :class:`SandboxError` without permission."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The path via the descriptor is short for every folder: a socket's address is limited to 107 bytes.
        try:
            folder = os.open(self.control, os.O_PATH)
            try:
                connection.connect(f"/proc/self/fd/{folder}/{fork_server.SOCKET}")
            finally:
                os.close(folder)
        except OSError as error:
            connection.close()
            if isinstance(error, PermissionError):
                raise SandboxError(f"the socket of {self.name} is closed to this user: {error}") from error
            return None
        return connection

    def is_alive(self) -> bool:
        """Return whether the server answers."""
        with suppress(SandboxError):
            connection = self.connect()
            if connection is not None:
                connection.close()
                return True
        return False

    def note_broken(self, reason: str) -> None:
        """Record for all processes of this machine that such a server does not work here."""
        self.broken.write_text(reason)

    def is_broken(self) -> bool:
        """Return whether such a server failed here a short while ago."""
        return self.broken.exists() and not _is_over(self.broken)

    def fill(self, spec: BoxSpec) -> None:
        """Put what ``spec`` mounts below ``/box`` there. No target may lie below another.

        Raises :class:`SandboxError` for a source as :func:`evaluator.sandbox.trees.readable_mounts` does.
        """
        for mount in spec.mounts:
            place = self.box / mount.target.removeprefix("/box/")
            source, _ = checked_source(mount, spec.label)
            for parent in reversed(place.relative_to(self.box).parents):
                (self.box / parent).mkdir(exist_ok=True)
                (self.box / parent).chmod(0o755)
            if source.is_dir():
                link_tree(source, place, bytecode=True)
            else:
                shutil.copyfile(source, place)
                place.chmod(0o644)

    def empty(self) -> None:
        """Remove what :meth:`fill` put there."""
        for entry in self.box.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Yield whether the lock is held exclusively. It is released with this process, however that ends."""
        with self.lock.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:  # a removed file could be locked by two users at once
                yield self.lock.exists() and os.path.samestat(os.fstat(file.fileno()), self.lock.stat())


def forget_failures(servers: Path) -> None:
    """Remove the expired failure notes below ``servers``."""
    for note in servers.glob(f"{FORKS}-*.broken"):
        if _is_over(note):
            note.unlink(missing_ok=True)


def _is_over(note: Path) -> bool:
    with suppress(FileNotFoundError):  # another process's sweep was faster
        return time.time() - note.stat().st_mtime >= BROKEN_SECONDS
    return True
