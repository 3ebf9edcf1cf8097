"""Who owns a box, written into its name, to tell what a dead worker left from what a live one runs."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.sandbox.types import BoxSpec

GRACE_SECONDS: Final = 60.0
"""How long after its wall time a box may still be cleaning up before a reaper takes it from a live owner."""


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


@dataclass(frozen=True, slots=True)
class BoxName:
    """A box's identity: the label from its order, its owner, its deadline (unix time, whole seconds) and a nonce."""

    label: str
    owner: Owner
    deadline: int
    nonce: str

    @classmethod
    def fresh(cls, spec: BoxSpec) -> BoxName:
        """A name of its own for one run of ``spec`` by this process."""
        deadline = int(time.time() + spec.limits.wall_seconds + GRACE_SECONDS)
        return cls(label=spec.label, owner=Owner.current(), deadline=deadline, nonce=secrets.token_hex(4))

    def __str__(self) -> str:
        """``label.owner.deadline.nonce``: one path component."""
        return f"{self.label}.{self.owner}.{self.deadline}.{self.nonce}"

    @classmethod
    def parse(cls, text: str) -> BoxName | None:
        """The reverse of ``str``; ``None`` when ``text`` is not a box's name."""
        try:
            label, owner, deadline, nonce = text.split(".")
            return cls(label, Owner.parse(owner), int(deadline), nonce)
        except ValueError:
            return None

    def is_left_over(self, *, keep: Callable[[str], bool]) -> bool:
        """Whether a reaper may kill the box: nobody claims its label, and its owner is dead or its deadline over."""
        return not keep(self.label) and (self.owner.is_dead() or time.time() > self.deadline)


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
