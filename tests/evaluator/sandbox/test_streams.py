"""Bytes into and out of a box, without any box: captures, feeds, pumps, and the Docker engine's stream format."""

from __future__ import annotations

import os
import select
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox.docker_client import Demultiplexer
from evaluator.sandbox.streams import Capture, Outbox
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
