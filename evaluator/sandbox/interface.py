"""The sandbox protocol, implemented by bubblewrap and Docker.

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
"""Size limit of every box's ``/dev/shm``."""

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class SandboxError(Exception):
    """An infrastructure error: the run ends as ``infra`` with this reason, and is retried.

    The message is for an operator: what is missing or broken, and a remedy. ``public`` is the short cause for
    submitters and visitors: no path, no name of this machine.
    """

    def __init__(self, *args: object, public: str = EVALUATOR_ERROR) -> None:
        super().__init__(*args)
        self.public = public


class SandboxUnavailableError(SandboxError):
    """No box can be started on this machine at all (bubblewrap, cgroups, the engine or the image is missing)."""

    def __init__(self, *args: object, public: str = "no sandbox works on the evaluator's machine") -> None:
        super().__init__(*args, public=public)


class RunCancelledError(Exception):
    """The caller's ``cancelled`` returned true while the box ran; the box has been killed and removed."""


def host_error(what: str, error: OSError) -> SandboxError:
    """Return the infrastructure error for ``error`` during ``what``; to be raised from ``error``."""
    if means_full(error):
        return SandboxError(
            f"{what}: the host's disk is full, or its quota is used up: make room below DATA_DIR and the "
            f"folders of the sandboxes (docs/sandboxes.md) ({error})",
            public=DISK_IS_FULL,
        )
    return SandboxError(f"{what}: the host failed: {error}", public=HOST_FAILED)


def means_full(error: OSError) -> bool:
    """Return whether a disk is full or a quota used up. ``shutil.copytree`` keeps only the texts of its errors."""
    return error.errno in _FULL or any(f"[Errno {number}]" in str(error) for number in _FULL)


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of one box. Sizes are bytes, times are seconds.

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
    """A host folder or file mounted in the box, always read-only, at an absolute path below ``/box``."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class BoxSpec:
    """One program to run in one fresh box.

    ``argv[0]`` is ``"python"``: each sandbox replaces it by its environment's interpreter, with ``-I -B`` and
    one-thread BLAS settings; ``variables`` (name, value) are added to these or replace them. ``stdin`` is sent whole
    and then closed. ``label`` (lower-case ASCII, digits, hyphens) names the run in cgroup directories and container
    labels; several boxes may share one. With ``may_fork`` the program may start in a process
    that has already imported the environment's main packages, if no mounted file has the name of one of them.
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
    """A queue of bytes with a descriptor that is readable while bytes wait in it or it has ended.

    Unbounded: senders limit what they send. A box ends the feed when its program no longer reads. Closing twice, or
    sending after the end, does nothing; all methods are thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self._ended = False
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def send(self, data: bytes) -> None:
        """Append ``data``."""
        with self._lock:
            if data and not self._ended:
                self._waiting += data
                os.eventfd_write(self._wake, 1)

    def end(self) -> None:
        """Send no more: the program's stdin is closed when everything has been taken."""
        with self._lock:
            self._end()

    def take(self) -> tuple[bytes, bool]:
        """Return all waiting bytes, and whether they were the last."""
        with self._lock:
            data, self._waiting = bytes(self._waiting), bytearray()
            if self._wake >= 0:
                with suppress(BlockingIOError):  # nothing was sent since the last call
                    os.eventfd_read(self._wake)
            return data, self._ended

    def watch(self) -> int:
        """Return a descriptor to select on, which the caller closes; it outlives :meth:`close`."""
        with self._lock:
            return os.dup(self._wake) if self._wake >= 0 else os.eventfd(1, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def close(self) -> None:
        """End the feed and release the descriptor. Bytes sent before still reach a running box."""
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
    """Conversation with a program while it runs in its box.

    ``feed`` is sent to the program after ``BoxSpec.stdin``; its stdin is closed when the feed is. ``received`` is
    called with every piece of the program's stdout as it arrives, from the thread that runs the box, so it must not
    block; the pieces are also part of ``BoxResult.stdout`` and count against its limit.
    """

    feed: Feed

    def received(self, data: bytes) -> None:
        """Process the next bytes of stdout."""


class Ending(StrEnum):
    """How the box's first process ended, as measured from outside."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    WALL_TIMEOUT = "wall_timeout"
    CPU_TIMEOUT = "cpu_timeout"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_LIMIT = "output_limit"


@dataclass(frozen=True, slots=True)
class BoxResult:
    """Output of a box. ``stdout`` is complete (or the ending is ``OUTPUT_LIMIT``), ``stderr`` may be cut."""

    ending: Ending
    exit_code: int | None
    signal: int | None
    stdout: bytes
    stderr: bytes
    stderr_truncated: bool
    wall_seconds: float
    peak_memory_bytes: int | None


class Sandbox(Protocol):
    """Runs untrusted programs. Every method raises :class:`SandboxError` for infrastructure errors."""

    name: str

    def check(self) -> None:
        """Raise :class:`SandboxUnavailableError` with a remedy when no box can be started here."""

    def environment_digest(self, environment: str) -> str:
        """Return a digest of everything in the box but the task: interpreter, packages, image, box settings."""

    def run(
        self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False, dialogue: Dialogue | None = None
    ) -> BoxResult:
        """Run ``spec`` in a fresh box and clean up completely. With ``dialogue``, stdin stays open meanwhile.

        ``cancelled`` is called about twice a second; when it returns true the box is killed and
        :class:`RunCancelledError` is raised.
        """

    def reap(self, *, keep: Callable[[str], bool]) -> int:
        """Kill and remove boxes left by dead workers, except labels that ``keep`` claims; return their number."""
