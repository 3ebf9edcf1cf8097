"""Bytes into and out of a running box: what it is sent, what is kept of what it writes, and when it is stopped."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Final

from evaluator.sandbox.types import Dialogue, Ending, Feed, Limits, RunCancelledError

CHUNK: Final = 64 * 1024
"""How many bytes are given to a pipe or socket, or taken from it, at a time."""

TICK_SECONDS: Final = 0.1
CANCEL_SECONDS: Final = 0.5
DRAIN_SECONDS: Final = 2.0


class Capture:
    """Keeps both streams of one box within its limits. Standard error beyond its limit is read and dropped."""

    def __init__(self, limits: Limits, dialogue: Dialogue | None = None) -> None:
        """``dialogue`` gets every piece of standard output that is kept."""
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.stderr_truncated = False
        self.output_exceeded = False
        self._limits = limits
        self._dialogue = dialogue

    def add_stdout(self, data: bytes) -> None:
        """Keep ``data`` up to the limit and remember whether there was more."""
        room = self._limits.output_bytes - len(self.stdout)
        kept = data[:room]
        self.stdout += kept
        self.output_exceeded = self.output_exceeded or len(data) > room
        if kept and self._dialogue is not None:
            self._dialogue.received(kept)

    def add_stderr(self, data: bytes) -> None:
        """Keep the beginning of the log."""
        room = self._limits.log_bytes - len(self.stderr)
        self.stderr += data[:room]
        self.stderr_truncated = self.stderr_truncated or len(data) > room


class Outbox:
    """What one box is sent: first its order's stdin, then what a feed gives. For one thread only.

    At any time it is either ``sending`` (there is a piece), ``listening`` (the feed's turn, see ``wake``) or neither:
    everything was sent and stdin is to be closed.
    """

    def __init__(self, stdin: bytes, feed: Feed | None) -> None:
        """Without ``feed``, ``stdin`` is all."""
        self._pending = memoryview(stdin)
        self._feed = feed
        self.wake: int | None = None if feed is None else feed.watch()
        self._refill()

    @property
    def sending(self) -> bool:
        """Whether there is a piece to send."""
        return bool(self._pending)

    @property
    def listening(self) -> bool:
        """Whether the next thing to wait for is the feed."""
        return not self._pending and self._feed is not None

    def send(self, write: Callable[[memoryview], int]) -> None:
        """Give ``write`` the next piece, one only: the other direction and the clock have their turn in between."""
        self._refill()
        if self._pending:
            try:
                self._pending = self._pending[write(self._pending[:CHUNK]) :]
            except BlockingIOError:  # full: the feed gave more than it takes, or somebody else filled it
                return
            except (BrokenPipeError, ConnectionResetError):  # the program does not want to read, or is gone
                self.abandon()
            self._refill()

    def abandon(self) -> None:
        """Nobody reads any more: forget what was to be sent, and end the feed so that it keeps nothing either."""
        self._pending = memoryview(b"")
        if self._feed is not None:
            self._feed.end()
            self._feed.take()
            self._feed = None

    def close(self) -> None:
        """Abandon it and give the descriptor back."""
        self.abandon()
        if self.wake is not None:
            os.close(self.wake)
            self.wake = None

    def _refill(self) -> None:
        """Fetch what the feed has, if it is its turn."""
        if self._pending or self._feed is None:
            return
        data, ended = self._feed.take()
        self._pending = memoryview(data)
        if ended:
            self._feed = None


class Ticker:
    """Asks ``probe`` ten times a second and ``cancelled`` twice, however often it is itself called."""

    def __init__(self, *, probe: Callable[[], Ending | None], cancelled: Callable[[], bool], deadline: float) -> None:
        """``deadline`` is on :func:`time.monotonic`'s clock."""
        self._probe = probe
        self._cancelled = cancelled
        self._deadline = deadline
        self._next_probe = 0.0
        self._next_cancel = 0.0

    def wait_seconds(self) -> float:
        """How long a caller may sleep before it has to ask again."""
        return max(0.0, min(TICK_SECONDS, self._deadline - time.monotonic()))

    def limit_met(self) -> Ending | None:
        """The limit that the box has met, if any. Raises :class:`RunCancelledError`."""
        now = time.monotonic()
        if now >= self._next_cancel:
            self._next_cancel = now + CANCEL_SECONDS
            if self._cancelled():
                raise RunCancelledError
        if now >= self._deadline:
            return Ending.WALL_TIMEOUT
        if now >= self._next_probe:
            self._next_probe = now + TICK_SECONDS
            return self._probe()
        return None


class Pump:
    """Feeds and drains the three pipes of one child process, without ever blocking on any of them."""

    def __init__(
        self, process: subprocess.Popen[bytes], *, stdin: bytes, capture: Capture, feed: Feed | None = None
    ) -> None:
        """``process`` has pipes for all three streams; ``feed`` is what it is sent after ``stdin``."""
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the process must be started with three pipes")
        self._streams = (process.stdin, process.stdout, process.stderr)
        self._stdin: IO[bytes] = process.stdin
        self._outbox = Outbox(stdin, feed)
        self._capture = capture
        self._selector = selectors.DefaultSelector()
        self._pidfd = os.pidfd_open(process.pid)
        self._selector.register(self._pidfd, selectors.EVENT_READ)
        for stream in self._streams:
            os.set_blocking(stream.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, capture.add_stdout)
        self._selector.register(process.stderr, selectors.EVENT_READ, capture.add_stderr)
        self._choose_events()

    def close(self) -> None:
        """Close everything; the process itself is the caller's to end."""
        self._selector.close()
        self._outbox.close()
        os.close(self._pidfd)
        for stream in self._streams:
            _close_quietly(stream)

    def run(self, ticker: Ticker) -> Ending | None:
        """Feed and drain until the process has ended (``None``) or met a limit. Raises RunCancelledError."""
        while True:
            if self._step(ticker.wait_seconds()):
                return None
            if self._capture.output_exceeded:
                return Ending.OUTPUT_LIMIT
            met = ticker.limit_met()
            if met is not None:
                return met

    def drain(self) -> None:
        """Read what is left in the pipes of a box that is dead already, until their end."""
        self._selector.unregister(self._pidfd)
        self._outbox.abandon()
        self._choose_events()
        deadline = time.monotonic() + DRAIN_SECONDS
        while self._selector.get_map() and time.monotonic() < deadline:
            self._step(TICK_SECONDS)

    def _step(self, timeout: float) -> bool:
        """Serve every pipe that is ready once; true when the process has ended."""
        ended = False
        for key, _ in self._selector.select(timeout):
            if key.fd == self._pidfd:
                ended = True
            elif key.fileobj is self._stdin or key.fd == self._outbox.wake:
                self._outbox.send(lambda piece: os.write(self._stdin.fileno(), piece))
                self._choose_events()
            else:
                with suppress(BlockingIOError):  # a box of the worker's own user can open the pipe as well and empty it
                    data = os.read(key.fd, CHUNK)
                    if data:
                        key.data(data)
                    else:
                        self._selector.unregister(key.fileobj)
        return ended

    def _choose_events(self) -> None:
        """Wait for room in stdin only while there is something to send, else for the feed, else for neither."""
        if not self._stdin.closed:
            self._watch(self._stdin, selectors.EVENT_WRITE, wanted=self._outbox.sending)
        if self._outbox.wake is not None:
            self._watch(self._outbox.wake, selectors.EVENT_READ, wanted=self._outbox.listening)
        if not self._outbox.sending and not self._outbox.listening:
            _close_quietly(self._stdin)

    def _watch(self, file: IO[bytes] | int, event: int, *, wanted: bool) -> None:
        if wanted and file not in self._selector.get_map():
            self._selector.register(file, event)
        elif not wanted and file in self._selector.get_map():
            self._selector.unregister(file)


def _close_quietly(stream: IO[bytes]) -> None:
    """Close a pipe whose other end may be gone; our buffers are empty, so nothing can be lost."""
    with suppress(BrokenPipeError):
        stream.close()
