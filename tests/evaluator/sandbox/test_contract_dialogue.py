"""What both sandboxes promise about a program that somebody talks with while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from evaluator.sandbox.types import BoxResult, Ending, Feed, Limits, Sandbox
from tests.evaluator.sandbox.boxes import QUICK, leftovers, order, own
from tests.evaluator.testing.unconfined import UnconfinedSandbox

MEBIBYTE = 1024 * 1024
SHORT = Limits(wall_seconds=1.2, cpu_seconds=10)
ECHO = """
    import sys
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
"""


class Partner:
    """Answers every whole line with what ``reply`` says; ``None`` ends the talk."""

    def __init__(self, reply: Callable[[bytes], bytes | None] = lambda _: b"") -> None:
        self.feed = Feed()
        self.reply = reply
        self.lines: list[bytes] = []
        self._rest = b""

    def received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self.lines.append(line)
            answer = self.reply(line)
            if answer is None:
                self.feed.end()
            else:
                self.feed.send(answer)


@pytest.fixture(
    params=[
        "unconfined",
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("docker", marks=pytest.mark.docker),
    ]
)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each of the two, and the double that stands for them in tests of the grading."""
    found: Sandbox = UnconfinedSandbox() if request.param == "unconfined" else request.getfixturevalue(request.param)
    return found


@pytest.fixture
def partner() -> Iterator[Partner]:
    """One that says nothing by itself."""
    made = Partner()
    yield made
    made.feed.close()


def talk(sandbox: Sandbox, code: str, partner: Partner, *, stdin: bytes = b"", limits: Limits = QUICK) -> BoxResult:
    return sandbox.run(order(code, stdin=stdin, limits=limits), dialogue=partner)


def test_a_large_message_both_ways(sandbox: Sandbox, partner: Partner) -> None:
    large = b"x" * (3 * MEBIBYTE) + b"\n"
    partner.reply = lambda line: large if line == b"go" else None
    result = talk(sandbox, ECHO, partner, stdin=b"go\n")
    assert (result.ending, result.exit_code) == (Ending.EXITED, 0)
    assert result.stdout == b"go\n" + large


def test_two_boxes_talk_to_each_other(sandbox: Sandbox, partner: Partner) -> None:
    other = Partner()

    def counted(line: bytes, to: Feed) -> bytes:
        if int(line) >= 100:
            for feed in (partner.feed, other.feed):
                feed.end()
        else:
            to.send(b"%d\n" % (int(line) + 1))
        return b""

    partner.reply = lambda line: counted(line, other.feed)
    other.reply = lambda line: counted(line, partner.feed)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(talk, sandbox, ECHO, other)
        first = talk(sandbox, ECHO, partner, stdin=b"1\n")
    assert (first.exit_code, second.result().exit_code) == (0, 0)
    assert partner.lines == [b"%d" % number for number in range(1, 101, 2)]
    assert other.lines == [b"%d" % number for number in range(2, 101, 2)]
    other.feed.close()


def test_a_feed_that_never_ends_does_not_outlast_the_wall_time(sandbox: Sandbox, partner: Partner) -> None:
    result = talk(sandbox, ECHO, partner, stdin=b"one\n", limits=SHORT)
    assert (result.ending, result.stdout) == (Ending.WALL_TIMEOUT, b"one\n")
    assert 1.2 <= result.wall_seconds < 4


def test_a_program_that_goes_in_mid_talk_is_no_fault(sandbox: Sandbox, partner: Partner) -> None:
    partner.reply = lambda _: b"x" * MEBIBYTE + b"\n"
    begun = time.monotonic()
    result = talk(sandbox, "import os; input(); print('bye', flush=True); os._exit(3)", partner, stdin=b"one\n")
    assert (result.ending, result.exit_code, result.stdout) == (Ending.EXITED, 3, b"bye\n")
    assert time.monotonic() - begun < 5
    partner.feed.send(b"nobody is there")


def test_a_program_that_never_reads_is_no_deadlock(sandbox: Sandbox, partner: Partner) -> None:
    partner.reply = lambda _: b"x" * (4 * MEBIBYTE)
    code = "import sys; print('talk', flush=True); sys.stdout.write('y' * (4 << 20))"
    result = talk(sandbox, code, partner)
    assert (result.ending, result.exit_code, len(result.stdout)) == (Ending.EXITED, 0, 5 + 4 * MEBIBYTE)


def test_a_flood_of_talk_meets_the_limit(sandbox: Sandbox, partner: Partner) -> None:
    partner.reply = lambda line: line + b"\n"
    limits = Limits(wall_seconds=10, output_bytes=MEBIBYTE)
    result = talk(sandbox, "while True: print('x' * 65535, flush=True)", partner, limits=limits)
    assert (result.ending, len(result.stdout)) == (Ending.OUTPUT_LIMIT, MEBIBYTE)
    assert partner.lines == [b"x" * 65535] * 16
    assert result.wall_seconds < 5


def test_a_partner_that_fails_leaves_no_box(sandbox: Sandbox, partner: Partner) -> None:
    def fail(_: bytes) -> bytes:
        raise ZeroDivisionError

    partner.reply = fail
    with pytest.raises(ZeroDivisionError):
        sandbox.run(order(ECHO, label=own("failing"), stdin=b"one\n"), dialogue=partner)
    assert leftovers(own("failing")) == []
