"""Feeds and drains one child process until it ends or meets a limit, without ever blocking on any of its pipes."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable
from typing import IO, Final

from evaluator.sandbox.capture import Capture
from evaluator.sandbox.feed import CHUNK, Feed, Outbox
from evaluator.sandbox.types import Ending, RunCancelledError

TICK_SECONDS: Final = 0.1
CANCEL_SECONDS: Final = 0.5
DRAIN_SECONDS: Final = 2.0


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
        now = time.monotonic()
        return max(0.0, min(TICK_SECONDS, self._deadline - now))

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
    """The three pipes of one child process."""

    def __init__(
        self, process: subprocess.Popen[bytes], *, stdin: bytes, capture: Capture, feed: Feed | None = None
    ) -> None:
        """``process`` has pipes for all three streams; ``feed`` is what it is sent after ``stdin``."""
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the process must be started with three pipes")
        self._process = process
        self._stdin: IO[bytes] = process.stdin
        self._outbox = Outbox(stdin, feed)
        self._capture = capture
        self._selector = selectors.DefaultSelector()
        self._pidfd = os.pidfd_open(process.pid)
        self._selector.register(self._pidfd, selectors.EVENT_READ)
        readers = ((process.stdout, capture.add_stdout), (process.stderr, capture.add_stderr))
        for stream, add in readers:
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, add)
        os.set_blocking(self._stdin.fileno(), False)
        self._aim()

    def close(self) -> None:
        """Close everything; the process itself is the caller's to end."""
        self._selector.close()
        self._outbox.close()
        os.close(self._pidfd)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None and not stream.closed:
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
        self._aim()
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
                self._send()
            else:
                self._read(key)
        return ended

    def _read(self, key: selectors.SelectorKey) -> None:
        try:
            data = os.read(key.fd, CHUNK)
        except BlockingIOError:  # a box of the worker's own user can open the pipe as well and take what was there
            return
        if data:
            key.data(data)
        else:
            self._selector.unregister(key.fileobj)

    def _send(self) -> None:
        """Send one piece, for the other pipes and the clock have their turn in between."""
        self._outbox.refill()
        if self._outbox.sending:
            try:
                self._outbox.sent(os.write(self._stdin.fileno(), self._outbox.piece()))
            except BrokenPipeError:  # the program does not want to read it: its own affair
                self._outbox.abandon()
            except BlockingIOError:  # full: the feed gave more than it takes, or somebody else filled it
                pass
        self._aim()

    def _aim(self) -> None:
        """Wait for room in stdin only while there is something to send, else for the feed, else for neither."""
        if not self._stdin.closed:
            self._watch(self._stdin, selectors.EVENT_WRITE, wanted=self._outbox.sending)
        if self._outbox.wake is not None:
            self._watch(self._outbox.wake, selectors.EVENT_READ, wanted=self._outbox.listening)
        if not self._outbox.sending and not self._outbox.listening and not self._stdin.closed:
            _close_quietly(self._stdin)

    def _watch(self, file: IO[bytes] | int, event: int, *, wanted: bool) -> None:
        if wanted and file not in self._selector.get_map():
            self._selector.register(file, event)
        elif not wanted and file in self._selector.get_map():
            self._selector.unregister(file)


def _close_quietly(stream: IO[bytes]) -> None:
    """Close a pipe whose other end may be gone; our buffers are empty, so nothing can be lost."""
    try:
        stream.close()
    except BrokenPipeError:
        return
