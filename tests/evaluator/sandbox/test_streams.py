"""Bytes into and out of a box, without any box: captures, feeds, pumps, and the Docker engine's stream format."""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox.docker_client import Demultiplexer
from evaluator.sandbox.streams import Capture, Pump, Ticker
from evaluator.sandbox.types import Feed, Limits, SandboxError


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


@contextmanager
def pump(feed: Feed, stdin: bytes) -> Iterator[tuple[Pump, int, int]]:
    """A pump whose box ends when nobody writes to the second pipe any more; with the ends of the box."""
    (box_reads, writer), (reader, box_writes) = os.pipe(), os.pipe()
    for descriptor in (reader, writer):
        os.set_blocking(descriptor, False)
    capture = Capture(Limits())
    made = Pump(
        readers={reader: capture.add_stdout}, writer=writer, close_writer=partial(os.close, writer), ended=reader,
        stdin=stdin, capture=capture, feed=feed,
    )  # fmt: skip
    try:
        yield made, box_reads, box_writes
    finally:
        made.close()
        os.close(reader)


@pytest.mark.parametrize("reads", [False, True], ids=["closes its input", "ends"])
def test_an_abandoned_feed_keeps_nothing(reads: bool) -> None:
    feed = Feed()
    feed.send(b"unread too")
    with pump(feed, b"unread") as (made, box_reads, box_writes):
        if not reads:
            os.close(box_reads)
        os.close(box_writes)
        ticker = Ticker(probe=lambda: None, cancelled=lambda: False, deadline=time.monotonic() + 10)
        assert made.run(ticker) is None
    if reads:
        os.close(box_reads)
    feed.send(b"more")
    assert feed.take() == (b"", True)
    feed.close()


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
