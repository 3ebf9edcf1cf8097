"""Transfer bytes into and out of a running box within its limits, and determine when to stop it."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Final

from evaluator.sandbox.interface import BoxResult, Dialogue, Ending, Feed, Limits, RunCancelledError

CHUNK: Final = 64 * 1024
"""Number of bytes written to or read from a pipe or socket at a time."""

TICK_SECONDS: Final = 0.1
CANCEL_SECONDS: Final = 0.5
DRAIN_SECONDS: Final = 2.0


class Capture:
    """Stores both streams of one box within its limits. Standard error beyond its limit is read and dropped."""

    def __init__(self, limits: Limits, dialogue: Dialogue | None = None) -> None:
        """Start empty. ``dialogue`` receives every stored piece of standard output."""
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.stderr_truncated = False
        self.output_exceeded = False
        self._limits = limits
        self._dialogue = dialogue

    def add_stdout(self, data: bytes) -> None:
        """Store ``data`` up to the limit and record whether there was more."""
        room = self._limits.output_bytes - len(self.stdout)
        kept = data[:room]
        self.stdout += kept
        self.output_exceeded = self.output_exceeded or len(data) > room
        if kept and self._dialogue is not None:
            self._dialogue.received(kept)

    def add_stderr(self, data: bytes) -> None:
        """Store the beginning of the log."""
        room = self._limits.log_bytes - len(self.stderr)
        self.stderr += data[:room]
        self.stderr_truncated = self.stderr_truncated or len(data) > room

    def result(
        self,
        *,
        stopped: Ending | None,
        code: int,
        number: int,
        out_of_memory: bool,
        cpu_seconds: float,
        wall_seconds: float,
        peak_memory: int | None = None,
    ) -> BoxResult:
        """Return the box's result: ``stopped`` by a limit, or ended with exit ``code`` or signal ``number`` (0: none).

        ``cpu_seconds`` serves only to attribute a SIGKILL to the processor limit.
        """
        if stopped is not None:
            ending, number = stopped, number or int(signal.SIGKILL)
        elif out_of_memory:
            ending = Ending.OUT_OF_MEMORY
        elif number == signal.SIGXCPU or (number == signal.SIGKILL and cpu_seconds >= self._limits.cpu_seconds):
            ending = Ending.CPU_TIMEOUT
        else:
            ending = Ending.SIGNALLED if number else Ending.EXITED
        return BoxResult(
            ending=ending,
            exit_code=None if number else code,
            signal=number or None,
            stdout=bytes(self.stdout),
            stderr=bytes(self.stderr),
            stderr_truncated=self.stderr_truncated,
            wall_seconds=wall_seconds,
            peak_memory_bytes=peak_memory,
        )


class Ticker:
    """Calls ``probe`` ten times a second and ``cancelled`` twice, however often it is called itself."""

    def __init__(self, *, probe: Callable[[], Ending | None], cancelled: Callable[[], bool], deadline: float) -> None:
        """Store the callbacks. ``deadline`` is on :func:`time.monotonic`'s clock."""
        self._probe = probe
        self._cancelled = cancelled
        self._deadline = deadline
        self._next_probe = 0.0
        self._next_cancel = 0.0

    def wait_seconds(self) -> float:
        """Return how long a caller may sleep before its next call."""
        return max(0.0, min(TICK_SECONDS, self._deadline - time.monotonic()))

    def limit_met(self) -> Ending | None:
        """Return the limit that the box has reached, if any. Raises :class:`RunCancelledError`."""
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
    """Sends a box's input and receives its output, without blocking on either."""

    def __init__(
        self,
        *,
        readers: Mapping[int, Callable[[bytes], object]],
        writer: int,
        close_writer: Callable[[], object],
        ended: int,
        stdin: bytes,
        capture: Capture,
        feed: Feed | None,
    ) -> None:
        """Prepare the transfer; never blocks on the given descriptors and never closes them.

        ``readers`` maps each descriptor that the box writes to, to the function that adds its bytes to ``capture``. The
        box is sent ``stdin``, then the bytes of ``feed``; then ``close_writer`` ends its input. The box has ended when
        ``ended`` is at its end (if it is a reader) or readable (otherwise).
        """
        self._readers = readers
        self._writer = writer
        self._close_writer = close_writer
        self._ended = ended
        self._capture = capture
        self._pending = memoryview(stdin)
        self._feed = feed
        self._wake = None if feed is None else feed.watch()
        self._open = True
        self._selector = selectors.DefaultSelector()
        for descriptor in {*readers, ended}:
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._choose_events()

    def run(self, ticker: Ticker) -> Ending | None:
        """Transfer until the box has ended (``None``) or reached a limit. Raises RunCancelledError."""
        while True:
            if self._step(ticker.wait_seconds()):
                return None
            if self._capture.output_exceeded:
                return Ending.OUTPUT_LIMIT
            met = ticker.limit_met()
            if met is not None:
                return met

    def drain(self) -> None:
        """Read the remaining content of a dead box's pipes, until their end."""
        self._selector.unregister(self._ended)
        self._abandon()
        deadline = time.monotonic() + DRAIN_SECONDS
        while self._selector.get_map() and time.monotonic() < deadline:
            self._step(TICK_SECONDS)

    def close(self) -> None:
        """Stop all transfer with the box and release the descriptors."""
        self._abandon()
        self._selector.close()
        if self._wake is not None:
            os.close(self._wake)

    def _step(self, timeout: float) -> bool:
        """Serve every ready descriptor once; return true when the box has ended."""
        ended = False
        for key, _ in self._selector.select(timeout):
            if key.fd in (self._writer, self._wake):
                self._send()
            elif key.fd not in self._readers:
                ended = True
            else:
                with suppress(BlockingIOError):  # a box of the worker's own user can also open the pipe and empty it
                    data = _read(key.fd)
                    self._readers[key.fd](data)
                    if not data:
                        self._selector.unregister(key.fd)
                        ended = ended or key.fd == self._ended
        return ended

    def _send(self) -> None:
        """Send one piece only: the other direction and the clock are served in between."""
        self._refill()
        if self._pending:
            try:
                self._pending = self._pending[os.write(self._writer, self._pending[:CHUNK]) :]
            except BlockingIOError:  # full: the feed exceeds the room, or another process filled the pipe
                return
            except (BrokenPipeError, ConnectionResetError):  # the program closed its input, or is gone
                self._abandon()
        self._choose_events()

    def _refill(self) -> None:
        """Fetch the feed's bytes if everything before is sent."""
        if not self._pending and self._feed is not None:
            data, ended = self._feed.take()
            self._pending = memoryview(data)
            if ended:
                self._feed = None

    def _abandon(self) -> None:
        """Drop unsent bytes and end the feed, since the box no longer reads."""
        self._pending = memoryview(b"")
        if self._feed is not None:
            self._feed.end()
            self._feed.take()
            self._feed = None
        self._choose_events()

    def _choose_events(self) -> None:
        """Wait for room in stdin only while there are bytes to send, otherwise for the feed, otherwise for neither."""
        self._refill()
        if self._open:
            self._watch(self._writer, selectors.EVENT_WRITE, wanted=bool(self._pending))
        if self._wake is not None:
            self._watch(self._wake, selectors.EVENT_READ, wanted=not self._pending and self._feed is not None)
        if self._open and not self._pending and self._feed is None:
            self._open = False
            with suppress(OSError):  # the other end is gone; the buffers here are empty, so nothing can be lost
                self._close_writer()

    def _watch(self, descriptor: int, event: int, *, wanted: bool) -> None:
        if wanted and descriptor not in self._selector.get_map():
            self._selector.register(descriptor, event)
        elif not wanted and descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK)
    except ConnectionResetError:
        return b""


@contextmanager
def process_pump(
    process: subprocess.Popen[bytes], *, stdin: bytes, capture: Capture, feed: Feed | None
) -> Iterator[Pump]:
    """Open a pump for a child process's three pipes. It ends when the child does, which the caller has to end."""
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise ValueError("the process must be started with three pipes")
    pipes = (process.stdin, process.stdout, process.stderr)
    ended = os.pidfd_open(process.pid)
    try:
        with _pump_of(pipes, ended, stdin=stdin, capture=capture, feed=feed) as pump:
            yield pump
    finally:
        os.close(ended)


def anonymous_file(data: bytes) -> int:
    """Create a file without a name that holds ``data``; return its descriptor, at the beginning."""
    descriptor = os.memfd_create("box")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


@contextmanager
def own_pipes(ended: int, *, stdin: bytes, capture: Capture) -> Iterator[tuple[Pump, tuple[int, int, int]]]:
    """Open a pump for three new pipes; yield it and their other ends, which the caller passes on and closes.

    It ends when the descriptor ``ended`` is readable.
    """
    theirs_in, sending = os.pipe()
    out, theirs_out = os.pipe()
    log, theirs_log = os.pipe()
    pipes = (os.fdopen(sending, "wb", 0), os.fdopen(out, "rb", 0), os.fdopen(log, "rb", 0))
    with _pump_of(pipes, ended, stdin=stdin, capture=capture, feed=None) as pump:
        yield pump, (theirs_in, theirs_out, theirs_log)


@contextmanager
def _pump_of(
    pipes: tuple[IO[bytes], IO[bytes], IO[bytes]], ended: int, *, stdin: bytes, capture: Capture, feed: Feed | None
) -> Iterator[Pump]:
    """Open a pump for a program's standard input, output and log, which are closed afterwards."""
    sending, out, log = (pipe.fileno() for pipe in pipes)
    for descriptor in (sending, out, log):
        os.set_blocking(descriptor, False)
    pump = Pump(
        readers={out: capture.add_stdout, log: capture.add_stderr},
        writer=sending,
        close_writer=pipes[0].close,
        ended=ended,
        stdin=stdin,
        capture=capture,
        feed=feed,
    )
    try:
        yield pump
    finally:
        pump.close()
        for pipe in pipes:
            with suppress(BrokenPipeError):
                pipe.close()
