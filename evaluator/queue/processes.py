"""Identify processes, so that work and boxes of dead ones are recognised."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Owner:
    """A unique identity of a process: machine and pid namespace (as one number), pid and start time (clock ticks)."""

    namespace: int
    pid: int
    started: int

    @classmethod
    def current(cls) -> Owner:
        """Return the calling process."""
        return cls(namespace=_pid_namespace(), pid=os.getpid(), started=start_ticks(os.getpid()) or 0)

    def is_dead(self) -> bool:
        """Return whether the process is surely gone; in another pid namespace it is invisible and counts as alive."""
        return self.namespace == _pid_namespace() and start_ticks(self.pid) != self.started

    def __str__(self) -> str:
        """Return ``namespace-pid-started``, usable in file names and container labels."""
        return f"{self.namespace}-{self.pid}-{self.started}"

    @classmethod
    def parse(cls, text: str) -> Owner:
        """Reverse ``str``. Raises :class:`ValueError`."""
        namespace, pid, started = (int(part) for part in text.split("-"))
        return cls(namespace, pid, started)


@cache
def _pid_namespace() -> int:
    """Return a number for this pid namespace; machines number theirs alike, so their start is part of it."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    inode = Path("/proc/self/ns/pid").stat().st_ino
    return int.from_bytes(hashlib.sha256(f"{boot}{inode}".encode()).digest()[:6])


def start_ticks(pid: int) -> int | None:
    """Return field 22 of ``/proc/<pid>/stat`` (see proc(5)); ``None`` if the process is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def job_label() -> str:
    """Return the label of boxes for work outside the queue."""
    return f"job-{os.getpid()}"
