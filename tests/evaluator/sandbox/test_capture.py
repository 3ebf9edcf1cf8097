"""Limits on what is kept of a box's output."""

from __future__ import annotations

from evaluator.sandbox.capture import Capture
from evaluator.sandbox.types import Limits


def test_output_is_kept_to_the_last_byte_of_its_limit() -> None:
    capture = Capture(Limits(output_bytes=4))
    capture.add_stdout(b"ab")
    capture.add_stdout(b"cd")
    assert (bytes(capture.stdout), capture.output_exceeded) == (b"abcd", False)
    capture.add_stdout(b"e")
    assert (bytes(capture.stdout), capture.output_exceeded) == (b"abcd", True)


def test_the_logs_beginning_is_kept() -> None:
    capture = Capture(Limits(log_bytes=4))
    capture.add_stderr(b"abcdef")
    capture.add_stderr(b"g")
    assert (bytes(capture.stderr), capture.stderr_truncated, capture.output_exceeded) == (b"abcd", True, False)
