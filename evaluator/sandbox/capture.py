"""What a box has written so far, within its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evaluator.sandbox.types import Dialogue, Limits


@dataclass(slots=True)
class Capture:
    """Collects both streams of one box; sizes are bytes. Standard error beyond its limit is read and dropped.

    ``received`` is told of every piece of standard output that is kept.
    """

    limits: Limits
    received: Callable[[bytes], None] = lambda _: None
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    stderr_truncated: bool = False
    output_exceeded: bool = False

    @classmethod
    def of(cls, limits: Limits, dialogue: Dialogue | None) -> Capture:
        """One that lets ``dialogue`` listen, where there is one."""
        return cls(limits) if dialogue is None else cls(limits, received=dialogue.received)

    def add_stdout(self, data: bytes) -> None:
        """Keep ``data`` up to the limit and remember whether there was more."""
        room = self.limits.output_bytes - len(self.stdout)
        kept = data[:room]
        self.stdout += kept
        self.output_exceeded = self.output_exceeded or len(data) > room
        if kept:
            self.received(kept)

    def add_stderr(self, data: bytes) -> None:
        """Keep the beginning of the log."""
        room = self.limits.log_bytes - len(self.stderr)
        self.stderr += data[:room]
        self.stderr_truncated = self.stderr_truncated or len(data) > room
