"""Bytes on their way into a running box, put in by one thread and taken out by the one that runs the box."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Final

CHUNK: Final = 64 * 1024
"""How many bytes are given to a pipe or socket, or taken from it, at a time."""


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
        self.refill()

    @property
    def sending(self) -> bool:
        """Whether there is a piece to send."""
        return bool(self._pending)

    @property
    def listening(self) -> bool:
        """Whether the next thing to wait for is the feed."""
        return not self._pending and self._feed is not None

    def piece(self) -> memoryview:
        """What to send next, at most one chunk."""
        return self._pending[:CHUNK]

    def sent(self, count: int) -> None:
        """``count`` bytes of the piece are gone."""
        self._pending = self._pending[count:]
        self.refill()

    def refill(self) -> None:
        """Fetch what the feed has, if it is its turn."""
        if self._pending or self._feed is None:
            return
        data, ended = self._feed.take()
        self._pending = memoryview(data)
        if ended:
            self._feed = None

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
