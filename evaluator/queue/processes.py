"""Identify processes, so that work and boxes of a dead one are recognised."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that no other can be mistaken for: its number's namespace, its number and its start (clock ticks)."""

    namespace: int
    pid: int
    started: int

    @classmethod
    def current(cls) -> Owner:
        """The calling process."""
        return cls(namespace=_pid_namespace(), pid=os.getpid(), started=start_ticks(os.getpid()) or 0)

    def is_dead(self) -> bool:
        """Whether the process is gone for sure; one in another pid namespace cannot be seen and counts as alive."""
        return self.namespace == _pid_namespace() and start_ticks(self.pid) != self.started

    def __str__(self) -> str:
        """``namespace-pid-started``, fit for file names and container labels."""
        return f"{self.namespace}-{self.pid}-{self.started}"

    @classmethod
    def parse(cls, text: str) -> Owner:
        """The reverse of ``str``. Raises :class:`ValueError`."""
        namespace, pid, started = (int(part) for part in text.split("-"))
        return cls(namespace, pid, started)


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def start_ticks(pid: int) -> int | None:
    """Field 22 of ``/proc/<pid>/stat`` (see proc(5)); ``None`` for a process that is gone or only a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def job_label() -> str:
    """What the boxes of work outside the queue are called."""
    return f"job-{os.getpid()}"
