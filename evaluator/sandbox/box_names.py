"""Name boxes after their owners, to distinguish what a dead worker left from what a live one runs."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from evaluator.queue.processes import Owner
from evaluator.sandbox.interface import BoxSpec

GRACE_SECONDS: Final = 60.0
"""How long after its wall time a box may still be cleaning up before a reaper removes it despite a live owner."""


@dataclass(frozen=True, slots=True)
class BoxName:
    """A box's identity: its specification's label, its owner, its deadline (unix time, whole seconds) and a nonce."""

    label: str
    owner: Owner
    deadline: int
    nonce: str

    @classmethod
    def fresh(cls, spec: BoxSpec) -> BoxName:
        """Return a unique name for one run of ``spec`` by this process."""
        deadline = int(time.time() + spec.limits.wall_seconds + GRACE_SECONDS)
        return cls(label=spec.label, owner=Owner.current(), deadline=deadline, nonce=secrets.token_hex(4))

    def __str__(self) -> str:
        """Return ``label.owner.deadline.nonce``: one path component."""
        return f"{self.label}.{self.owner}.{self.deadline}.{self.nonce}"

    @classmethod
    def parse(cls, text: str) -> BoxName | None:
        """Reverse ``str``; return ``None`` when ``text`` is not a box's name."""
        try:
            label, owner, deadline, nonce = text.split(".")
            return cls(label, Owner.parse(owner), int(deadline), nonce)
        except ValueError:
            return None

    def is_left_over(self, *, keep: Callable[[str], bool]) -> bool:
        """Return whether a reaper may kill the box: label unclaimed, and its owner dead or its deadline over."""
        return not keep(self.label) and (self.owner.is_dead() or time.time() > self.deadline)
