"""What a sandbox is: the one typed protocol behind which bubblewrap and Docker stand.

This module imports no Django and nothing outside the standard library, so that it can be read and tested alone.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

DISK_IS_FULL: Final = "the host's disk is full"
HOST_FAILED: Final = "the host failed"
EVALUATOR_ERROR: Final = "an error of the evaluator"

SHARED_MEMORY_BYTES: Final = 16 * 1024 * 1024
"""What every box may keep in ``/dev/shm``."""

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class SandboxError(Exception):
    """An infrastructure error: the run ends as ``infra`` with this reason, and is retried.

    The message is written for an operator: what is missing or broken, and what to do. ``public`` is the short cause
    that submitters and visitors read: no path, no name of this machine's.
    """

    def __init__(self, *args: object, public: str = EVALUATOR_ERROR) -> None:
        super().__init__(*args)
        self.public = public


class SandboxUnavailableError(SandboxError):
    """No box can be started on this machine at all (bubblewrap, cgroups, the engine or the image is missing)."""

    def __init__(self, *args: object, public: str = "no sandbox works on the evaluator's machine") -> None:
        super().__init__(*args, public=public)


class RunCancelledError(Exception):
    """The caller's ``cancelled`` said so while the box ran; the box has been killed and removed."""


def host_error(what: str, error: OSError) -> SandboxError:
    """The infrastructure error behind ``error``, which befell ``what``; to be raised from ``error``."""
    if means_full(error):
        return SandboxError(
            f"{what}: the host's disk is full, or its quota is used up: make room below DATA_DIR and the "
            f"folders of the sandboxes (docs/sandboxes.md) ({error})",
            public=DISK_IS_FULL,
        )
    return SandboxError(f"{what}: the host failed it: {error}", public=HOST_FAILED)


def means_full(error: OSError) -> bool:
    """Whether a disk is full or a quota used up. ``shutil.copytree`` keeps only the texts of what went wrong."""
    return error.errno in _FULL or any(f"[Errno {number}]" in str(error) for number in _FULL)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one box may use. Sizes are bytes, times are seconds.

    Defaults follow the measured settings in docs/security.md.
    """

    wall_seconds: float = 30.0
    cpu_seconds: int = 20
    memory_bytes: int = 512 * 1024 * 1024
    processes: int = 64
    tmpfs_bytes: int = 64 * 1024 * 1024
    tmpfs_files: int = 4096
    file_bytes: int = 32 * 1024 * 1024
    open_files: int = 256
    output_bytes: int = 8 * 1024 * 1024
    log_bytes: int = 64 * 1024


@dataclass(frozen=True, slots=True)
class Mount:
    """One host folder or file that the box sees, always read-only, at an absolute path below ``/box``."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class BoxSpec:
    """One program to run in one fresh box.

    ``argv[0]`` is ``"python"``: each sandbox puts the interpreter of its environment there, with ``-I -B`` and
    one-thread BLAS settings; ``variables`` (name, value) are added to these or replace them. ``stdin`` is sent whole
    and then closed. ``label`` (lower-case letters, digits, hyphens) names the run in cgroup directories and container
    labels; several boxes may have the same one. With ``may_fork`` the program may begin where the environment's
    main packages are imported already, as long as nothing below the mounts has such a name.
    """

    label: str
    argv: tuple[str, ...]
    mounts: tuple[Mount, ...]
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)
    environment: str = "numpy"
    variables: tuple[tuple[str, str], ...] = ()
    may_fork: bool = False


class Feed:
    """A queue of bytes with a descriptor that is readable while something waits in it, or it has ended.

    Unbounded: whoever sends limits what is sent. A box ends the feed when its program no longer reads. Closing twice,
    or sending after the end, does nothing; every method may be called by any thread at any time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self._ended = False
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def send(self, data: bytes) -> None:
        """Add ``data`` at the end."""
        with self._lock:
            if data and not self._ended:
                self._waiting += data
                os.eventfd_write(self._wake, 1)

    def end(self) -> None:
        """Nothing more will come: the program's stdin is closed when all was taken."""
        with self._lock:
            self._end()

    def take(self) -> tuple[bytes, bool]:
        """Everything that waits, and whether that was the last of it."""
        with self._lock:
            data, self._waiting = bytes(self._waiting), bytearray()
            if self._wake >= 0:
                with suppress(BlockingIOError):  # nothing was sent since the last time
                    os.eventfd_read(self._wake)
            return data, self._ended

    def watch(self) -> int:
        """A descriptor to wait for with a selector, the caller's own to close; it outlives :meth:`close`."""
        with self._lock:
            return os.dup(self._wake) if self._wake >= 0 else os.eventfd(1, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def close(self) -> None:
        """End it and give the descriptor back. What was sent before still goes to a box that is running."""
        with self._lock:
            self._end()
            if self._wake >= 0:
                os.close(self._wake)
                self._wake = -1

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            os.eventfd_write(self._wake, 1)


class Dialogue(Protocol):
    """Somebody who talks with a program while it runs in its box.

    ``feed`` is what the program is sent after ``BoxSpec.stdin``; its stdin is closed when the feed is. ``received`` is
    called with every piece of the program's stdout as soon as it has come, from the thread that runs the box, so it
    must not block; the pieces are part of ``BoxResult.stdout`` as well, and count against its limit.
    """

    feed: Feed

    def received(self, data: bytes) -> None:
        """Take in the next bytes of stdout."""


class Ending(StrEnum):
    """How the box's first process came to its end, as seen and measured from outside."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    WALL_TIMEOUT = "wall_timeout"
    CPU_TIMEOUT = "cpu_timeout"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_LIMIT = "output_limit"


@dataclass(frozen=True, slots=True)
class BoxResult:
    """What came out of a box. ``stdout`` is whole (or the ending is ``OUTPUT_LIMIT``), ``stderr`` may be cut."""

    ending: Ending
    exit_code: int | None
    signal: int | None
    stdout: bytes
    stderr: bytes
    stderr_truncated: bool
    wall_seconds: float
    peak_memory_bytes: int | None


class Sandbox(Protocol):
    """Runs programs that nobody trusts. Every method raises :class:`SandboxError` for infrastructure errors."""

    name: str

    def check(self) -> None:
        """Raise :class:`SandboxUnavailableError` with what to do when no box can be started here."""

    def environment_digest(self, environment: str) -> str:
        """A digest of everything in the box that is not the task's: interpreter, packages, image, box settings."""

    def run(
        self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False, dialogue: Dialogue | None = None
    ) -> BoxResult:
        """Run ``spec`` in a fresh box and leave nothing behind. With ``dialogue``, stdin stays open while it talks.

        ``cancelled`` is asked about twice a second; when it answers true the box is killed and
        :class:`RunCancelledError` is raised.
        """

    def reap(self, *, keep: Callable[[str], bool]) -> int:
        """Kill and remove boxes left by a dead worker, but those whose label ``keep`` claims; say how many."""
