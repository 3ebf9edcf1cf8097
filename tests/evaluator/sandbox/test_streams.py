"""Bytes into and out of a box, without any box: captures, feeds, pumps, and the Docker engine's stream format."""

from __future__ import annotations

import os
import select
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox.docker_client import Demultiplexer
from evaluator.sandbox.streams import CHUNK, Capture, Outbox, Pump, Ticker
from evaluator.sandbox.types import Ending, Feed, Limits, RunCancelledError, SandboxError


def test_output_is_kept_to_the_last_byte_of_its_limit_and_of_a_log_the_beginning() -> None:
    capture = Capture(Limits(output_bytes=4, log_bytes=4))
    capture.add_stdout(b"ab")
    capture.add_stdout(b"cd")
    assert (bytes(capture.stdout), capture.output_exceeded) == (b"abcd", False)
    capture.add_stdout(b"e")
    capture.add_stderr(b"abcdef")
    capture.add_stderr(b"g")
    assert (bytes(capture.stdout), capture.output_exceeded) == (b"abcd", True)
    assert (bytes(capture.stderr), capture.stderr_truncated) == (b"abcd", True)


def is_readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


def test_a_feed_gives_in_order_what_was_sent_and_its_descriptor_says_when_something_waits() -> None:
    feed = Feed()
    watched = feed.watch()
    assert not is_readable(watched)
    for piece in (b"a", b"", b"bc"):
        feed.send(piece)
    assert is_readable(watched)
    assert feed.take() == (b"abc", False)
    assert (feed.take(), is_readable(watched)) == ((b"", False), False)
    feed.send(b"last")
    feed.end()
    feed.end()
    feed.send(b"too late")
    assert is_readable(watched)
    assert feed.take() == (b"last", True)
    os.close(watched)
    feed.close()


def test_a_closed_feed_wakes_who_waits_and_leaves_no_descriptor() -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    feed = Feed()
    watched = feed.watch()
    feed.close()
    feed.close()
    feed.send(b"too late")
    late = feed.watch()
    assert (is_readable(watched), is_readable(late), feed.take()) == (True, True, (b"", True))
    os.close(watched)
    os.close(late)
    assert descriptors() == before


def test_many_threads_send_and_nothing_is_lost() -> None:
    feed = Feed()

    def send() -> None:
        for _ in range(500):
            feed.send(b"x")

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    taken = 0
    while any(thread.is_alive() for thread in threads):
        taken += len(feed.take()[0])
    assert taken + len(feed.take()[0]) == 4000
    feed.close()


def test_an_outbox_sends_the_input_in_chunks_then_listens_to_the_feed() -> None:
    feed, sent = Feed(), bytearray()

    def write(piece: memoryview) -> int:
        assert len(piece) <= CHUNK
        sent.extend(piece[: CHUNK - 1])
        return min(len(piece), CHUNK - 1)

    outbox = Outbox(b"x" * CHUNK, feed)
    feed.send(b"put")
    outbox.send(write)
    assert (outbox.sending, outbox.listening) == (True, False)
    while outbox.sending:
        outbox.send(write)
    assert bytes(sent) == b"x" * CHUNK + b"put"
    assert outbox.listening
    feed.end()
    outbox.send(write)
    assert (outbox.sending, outbox.listening) == (False, False)
    outbox.close()
    feed.close()


def refuse(piece: memoryview) -> int:
    raise BrokenPipeError


@pytest.mark.parametrize("how", [lambda outbox: outbox.send(refuse), Outbox.abandon, Outbox.close])
def test_an_abandoned_feed_keeps_nothing(how: Callable[[Outbox], None]) -> None:
    feed = Feed()
    outbox = Outbox(b"unread", feed)
    feed.send(b"unread too")
    how(outbox)
    assert (outbox.sending, outbox.listening) == (False, False)
    feed.send(b"more")
    assert feed.take() == (b"", True)
    outbox.close()
    feed.close()


@contextmanager
def pumped(command: list[str], capture: Capture, stdin: bytes = b"") -> Iterator[Pump]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pump = Pump(process, stdin=stdin, capture=capture)
    try:
        yield pump
    finally:
        process.kill()
        process.wait()
        pump.close()


def ticker(seconds: float = 10.0, probe: Ending | None = None, *, cancelled: bool = False) -> Ticker:
    deadline = time.monotonic() + seconds
    return Ticker(probe=lambda: probe, cancelled=lambda: cancelled, deadline=deadline)


def test_everything_goes_in_and_comes_out() -> None:
    capture = Capture(Limits())
    data = b"abc" * 500_000
    with pumped(["cat"], capture, data) as pump:
        assert pump.run(ticker()) is None
        pump.drain()
    assert bytes(capture.stdout) == data


@pytest.mark.parametrize(
    ("command", "watch", "ending"),
    [
        (["sleep", "60"], lambda: ticker(0.2), Ending.WALL_TIMEOUT),
        (["sleep", "60"], lambda: ticker(probe=Ending.OUT_OF_MEMORY), Ending.OUT_OF_MEMORY),
        (["sh", "-c", "yes >&2"], lambda: ticker(0.5), Ending.WALL_TIMEOUT),
        (["yes"], ticker, Ending.OUTPUT_LIMIT),
    ],
    ids=["deadline", "probe", "a flood of the log does not starve the deadline", "flood"],
)
def test_a_limit_that_is_met_ends_it(command: list[str], watch: Callable[[], Ticker], ending: Ending) -> None:
    capture = Capture(Limits(output_bytes=1000))
    begun = time.monotonic()
    with pumped(command, capture) as pump:
        assert pump.run(watch()) is ending
    assert time.monotonic() - begun < 2
    assert len(capture.stdout) <= 1000


def test_cancelling_raises() -> None:
    with pumped(["sleep", "60"], Capture(Limits())) as pump, pytest.raises(RunCancelledError):
        pump.run(ticker(cancelled=True))


FRAMES = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=50)), max_size=20)


@given(frames=FRAMES, size=st.integers(1, 40))
def test_the_engines_streams_are_whole_and_apart(frames: list[tuple[int, bytes]], size: int) -> None:
    wire = b"".join(struct.pack(">BxxxI", stream, len(payload)) + payload for stream, payload in frames)
    capture = Capture(Limits())
    demultiplexer = Demultiplexer(capture)
    for start in range(0, len(wire), size):
        demultiplexer.feed(wire[start : start + size])
    assert bytes(capture.stdout) == b"".join(payload for stream, payload in frames if stream == 1)
    assert bytes(capture.stderr) == b"".join(payload for stream, payload in frames if stream == 2)


@given(data=st.binary(max_size=200))
def test_foreign_bytes_of_an_engine_are_data_or_an_infrastructure_error(data: bytes) -> None:
    capture = Capture(Limits(output_bytes=100, log_bytes=100))
    with suppress(SandboxError):
        Demultiplexer(capture).feed(data)
    assert len(capture.stdout) <= 100


def test_an_unknown_stream_is_named() -> None:
    with pytest.raises(SandboxError, match="unknown stream 7"):
        Demultiplexer(Capture(Limits())).feed(struct.pack(">BxxxI", 7, 1) + b"x")
