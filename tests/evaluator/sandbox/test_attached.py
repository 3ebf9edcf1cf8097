"""The engine's stream format, however its bytes are cut."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox.attached import Demultiplexer
from evaluator.sandbox.capture import Capture
from evaluator.sandbox.types import Limits, SandboxError

FRAMES = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=50)), max_size=20)


@given(frames=FRAMES, size=st.integers(1, 40))
def test_streams_are_whole_and_apart(frames: list[tuple[int, bytes]], size: int) -> None:
    wire = b"".join(struct.pack(">BxxxI", stream, len(payload)) + payload for stream, payload in frames)
    capture = Capture(Limits())
    demultiplexer = Demultiplexer(capture)
    for start in range(0, len(wire), size):
        demultiplexer.feed(wire[start : start + size])
    assert bytes(capture.stdout) == b"".join(payload for stream, payload in frames if stream == 1)
    assert bytes(capture.stderr) == b"".join(payload for stream, payload in frames if stream == 2)


@given(data=st.binary(max_size=200))
def test_foreign_bytes_are_data_or_a_fault_of_ours(data: bytes) -> None:
    capture = Capture(Limits(output_bytes=100, log_bytes=100))
    with suppress(SandboxError):
        Demultiplexer(capture).feed(data)
    assert len(capture.stdout) <= 100


def test_an_unknown_stream_is_named() -> None:
    with pytest.raises(SandboxError, match="unknown stream 7"):
        Demultiplexer(Capture(Limits())).feed(struct.pack(">BxxxI", 7, 1) + b"x")
