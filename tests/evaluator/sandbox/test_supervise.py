"""Feeding and draining one process, without any box around it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from evaluator.sandbox.capture import Capture
from evaluator.sandbox.supervise import Pump, Ticker
from evaluator.sandbox.types import Ending, Limits, RunCancelledError


def never() -> bool:
    return False


def nothing() -> Ending | None:
    return None


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


def ticker(seconds: float = 10.0) -> Ticker:
    return Ticker(probe=nothing, cancelled=never, deadline=time.monotonic() + seconds)


def test_everything_goes_in_and_comes_out() -> None:
    capture = Capture(Limits())
    data = b"abc" * 500_000
    with pumped(["cat"], capture, data) as pump:
        assert pump.run(ticker()) is None
        pump.drain()
    assert bytes(capture.stdout) == data


def test_the_deadline_ends_it() -> None:
    with pumped(["sleep", "60"], Capture(Limits())) as pump:
        assert pump.run(ticker(0.2)) is Ending.WALL_TIMEOUT


def test_what_the_probe_finds_ends_it() -> None:
    watch = Ticker(probe=lambda: Ending.OUT_OF_MEMORY, cancelled=never, deadline=time.monotonic() + 10)
    with pumped(["sleep", "60"], Capture(Limits())) as pump:
        assert pump.run(watch) is Ending.OUT_OF_MEMORY


def test_cancelling_raises() -> None:
    watch = Ticker(probe=nothing, cancelled=lambda: True, deadline=time.monotonic() + 10)
    with pumped(["sleep", "60"], Capture(Limits())) as pump, pytest.raises(RunCancelledError):
        pump.run(watch)


def test_a_flood_ends_it_though_it_never_pauses() -> None:
    capture = Capture(Limits(output_bytes=1000))
    with pumped(["yes"], capture) as pump:
        assert pump.run(ticker()) is Ending.OUTPUT_LIMIT
    assert len(capture.stdout) == 1000


def test_a_flood_of_the_log_does_not_starve_the_deadline() -> None:
    with pumped(["sh", "-c", "yes >&2"], Capture(Limits())) as pump:
        begun = time.monotonic()
        assert pump.run(ticker(0.5)) is Ending.WALL_TIMEOUT
        assert time.monotonic() - begun < 2


def test_three_pipes_are_needed() -> None:
    process = subprocess.Popen(["true"])
    with pytest.raises(ValueError, match="three pipes"):
        Pump(process, stdin=b"", capture=Capture(Limits()))
    process.wait()


def test_a_pipe_that_somebody_else_emptied_in_between_is_no_fault() -> None:
    capture = Capture(Limits())
    with pumped(["sleep", "10"], capture) as pump:
        assert pump._process.stdout is not None
        pump._read(pump._selector.get_key(pump._process.stdout))
    assert bytes(capture.stdout) == b""
