"""The one connection through which a Docker box gets its input and sends both its streams.

Wire format (Docker Engine API, "Attach to a container", stream format): frames of a header of eight bytes - stream
number, three zeros, payload size as a big-endian 32-bit number - and the payload.
"""

from __future__ import annotations

import selectors
import socket
import struct
from contextlib import suppress
from typing import Any, Final

from evaluator.sandbox.capture import Capture
from evaluator.sandbox.feed import CHUNK, Feed, Outbox
from evaluator.sandbox.supervise import Ticker
from evaluator.sandbox.types import Ending, SandboxError

_HEADER: Final = struct.Struct(">BxxxI")
_STDOUT: Final = 1
_STDERR: Final = 2


class Demultiplexer:
    """Sorts the bytes of an attached connection into a :class:`Capture`, however they are cut."""

    def __init__(self, capture: Capture) -> None:
        """``capture`` gets every payload byte as soon as it has come."""
        self._add = {_STDOUT: capture.add_stdout, _STDERR: capture.add_stderr}
        self._header = b""
        self._stream = 0
        self._missing = 0

    def feed(self, data: bytes) -> None:
        """Take in the next bytes. Raises :class:`SandboxError` when they are not in the format."""
        while data:
            if self._missing:
                payload, data = data[: self._missing], data[self._missing :]
                self._missing -= len(payload)
                self._add[self._stream](payload)
                continue
            room = _HEADER.size - len(self._header)
            self._header, data = self._header + data[:room], data[room:]
            if len(self._header) == _HEADER.size:
                self._stream, self._missing = _HEADER.unpack(self._header)
                self._header = b""
                if self._stream not in self._add:
                    raise SandboxError(f"the Docker engine sent a frame of unknown stream {self._stream}")


class Attached:
    """An attached connection, made before the container starts so that nothing is missed."""

    def __init__(self, container: Any, *, stdin: bytes, capture: Capture, feed: Feed | None = None) -> None:
        """``stdin`` is sent whole, then what ``feed`` gives, and the direction is then closed."""
        wrapper = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        self._wrapper = wrapper
        self._socket: socket.socket = getattr(wrapper, "_sock", wrapper)
        self._socket.setblocking(False)
        self._outbox = Outbox(stdin, feed)
        self._sending_closed = False
        self._capture = capture
        self._demultiplexer = Demultiplexer(capture)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._aim()

    def run(self, ticker: Ticker) -> Ending | None:
        """Feed and drain until the stream ends (``None``) or a limit is met. Raises RunCancelledError."""
        while True:
            for key, events in self._selector.select(ticker.wait_seconds()):
                if key.fileobj is not self._socket or events & selectors.EVENT_WRITE:
                    self._send()
                if key.fileobj is self._socket and events & selectors.EVENT_READ and not self._read():
                    return None
            if self._capture.output_exceeded:
                return Ending.OUTPUT_LIMIT
            met = ticker.limit_met()
            if met is not None:
                return met

    def close(self) -> None:
        """Let go of the connection, read or not."""
        self._selector.close()
        self._outbox.close()
        self._socket.close()
        self._wrapper.close()

    def _send(self) -> None:
        """Send one piece, for the other direction and the clock have their turn in between."""
        self._outbox.refill()
        if self._outbox.sending:
            try:
                self._outbox.sent(self._socket.send(self._outbox.piece()))
            except BlockingIOError:
                pass
            except (BrokenPipeError, ConnectionResetError):  # the program is gone; its end is read on the other side
                self._outbox.abandon()
        self._aim()

    def _aim(self) -> None:
        """Wait for room only while there is something to send; close the direction after the last of it."""
        sending, listening = self._outbox.sending, self._outbox.listening
        room = selectors.EVENT_WRITE if sending else 0
        self._selector.modify(self._socket, selectors.EVENT_READ | room)
        wake = self._outbox.wake
        if wake is not None and (wake in self._selector.get_map()) is not listening:
            self._selector.register(wake, selectors.EVENT_READ) if listening else self._selector.unregister(wake)
        if not sending and not listening and not self._sending_closed:
            self._sending_closed = True
            with suppress(OSError):  # closed by the engine already
                self._socket.shutdown(socket.SHUT_WR)

    def _read(self) -> bool:
        try:
            data = self._socket.recv(CHUNK)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        self._demultiplexer.feed(data)
        return bool(data)
