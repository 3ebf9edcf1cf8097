"""Guarantees of both sandboxes: how a program ends, its input and output, and failures of the host."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.interface import (
    BoxResult,
    Ending,
    Feed,
    Limits,
    Mount,
    RunCancelledError,
    Sandbox,
    SandboxError,
    SandboxUnavailableError,
    host_error,
)
from tests.evaluator.sandbox.boxes import QUICK, leftovers, order, own, run
from tests.evaluator.testing.unconfined import UnconfinedSandbox

MEBIBYTE = 1024 * 1024


SHORT = Limits(wall_seconds=1.2, cpu_seconds=10)


@pytest.mark.smoke
def test_exit_code_and_both_streams_come_back(sandbox: Sandbox) -> None:
    result = run(sandbox, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (result.ending, result.exit_code, result.signal) == (Ending.EXITED, 7, None)
    assert (result.stdout, result.stderr, result.stderr_truncated) == (b"out\n", b"err\n", False)
    assert 0 < result.wall_seconds < 5


@pytest.mark.smoke
def test_sleeping_past_the_wall_time_is_stopped(sandbox: Sandbox) -> None:
    result = run(sandbox, "import time; print('begun', flush=True); time.sleep(60)", limits=SHORT)
    assert result.ending is Ending.WALL_TIMEOUT
    assert (result.stdout, result.exit_code) == (b"begun\n", None)
    assert 1.2 <= result.wall_seconds < 4


def test_a_busy_loop_is_stopped_for_its_processor_time(sandbox: Sandbox) -> None:
    # On a busy machine a second of processor time may take many of wall time.
    code = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    result = run(sandbox, code, limits=Limits(wall_seconds=60.0, cpu_seconds=1))
    assert result.ending is Ending.CPU_TIMEOUT
    assert result.wall_seconds < 30


@pytest.mark.smoke("gvisor")
def test_processes_are_counted(sandbox: Sandbox) -> None:
    code = """
        import os, time
        made = 0
        try:
            while True:
                if os.fork() == 0:
                    time.sleep(20)
                made += 1
        except BlockingIOError:
            print(made)
    """
    result = run(sandbox, code, limits=Limits(wall_seconds=10, processes=16))
    assert result.stdout == b"15\n"


def test_output_is_whole_up_to_its_limit(sandbox: Sandbox) -> None:
    limits = Limits(wall_seconds=10, output_bytes=MEBIBYTE)
    result = run(sandbox, f"print('x' * {MEBIBYTE - 1})", limits=limits)
    assert (result.ending, len(result.stdout)) == (Ending.EXITED, MEBIBYTE)


def test_the_log_is_drained_and_truncated(sandbox: Sandbox) -> None:
    code = "import sys; sys.stderr.write('first' + 'x' * (5 << 20)); print('done')"
    result = run(sandbox, code)
    assert (result.ending, result.stdout) == (Ending.EXITED, b"done\n")
    assert len(result.stderr) == 64 * 1024
    assert result.stderr.startswith(b"firstx")
    assert result.stderr_truncated


def test_a_program_that_closes_its_output_is_waited_for(sandbox: Sandbox) -> None:
    result = run(
        sandbox, "import os, time; print('last', flush=True); os.close(1); os.close(2); time.sleep(1); os._exit(3)"
    )
    assert (result.ending, result.exit_code, result.stdout) == (Ending.EXITED, 3, b"last\n")
    assert result.wall_seconds >= 1


def test_a_segmentation_fault_is_a_signal(sandbox: Sandbox) -> None:
    result = run(sandbox, "import ctypes; ctypes.string_at(0)")
    assert (result.ending, result.exit_code, result.signal) == (Ending.SIGNALLED, None, 11)


@pytest.mark.smoke
def test_a_cancelled_run_is_stopped_and_removed(sandbox: Sandbox) -> None:
    begun = time.monotonic()
    spec = order("import time; time.sleep(60)", label=own("cancel"))
    with pytest.raises(RunCancelledError):
        sandbox.run(spec, cancelled=lambda: time.monotonic() > begun + 1)
    assert time.monotonic() - begun < 8
    assert leftovers(own("cancel")) == []


ECHO = """
    import sys
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
"""


class Partner:
    """Answers every complete line with the result of ``reply``; ``None`` ends the conversation."""

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
def speaker(request: pytest.FixtureRequest) -> Sandbox:
    """Each of the two, and the test double that replaces them in tests of grading."""
    found: Sandbox = UnconfinedSandbox() if request.param == "unconfined" else request.getfixturevalue(request.param)
    return found


@pytest.fixture
def partner() -> Iterator[Partner]:
    """A partner that sends nothing by itself."""
    made = Partner()
    yield made
    made.feed.close()


def talk(speaker: Sandbox, code: str, partner: Partner, *, stdin: bytes = b"", limits: Limits = QUICK) -> BoxResult:
    return speaker.run(order(code, stdin=stdin, limits=limits), dialogue=partner)


def test_a_large_message_both_ways(speaker: Sandbox, partner: Partner) -> None:
    large = b"x" * (3 * MEBIBYTE) + b"\n"
    partner.reply = lambda line: large if line == b"go" else None
    result = talk(speaker, ECHO, partner, stdin=b"go\n")
    assert (result.ending, result.exit_code) == (Ending.EXITED, 0)
    assert result.stdout == b"go\n" + large


@pytest.mark.smoke
def test_two_boxes_talk_to_each_other(speaker: Sandbox, partner: Partner) -> None:
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
        second = pool.submit(talk, speaker, ECHO, other)
        first = talk(speaker, ECHO, partner, stdin=b"1\n")
    assert (first.exit_code, second.result().exit_code) == (0, 0)
    assert partner.lines == [b"%d" % number for number in range(1, 101, 2)]
    assert other.lines == [b"%d" % number for number in range(2, 101, 2)]
    other.feed.close()


def test_a_feed_that_never_ends_does_not_outlast_the_wall_time(speaker: Sandbox, partner: Partner) -> None:
    result = talk(speaker, ECHO, partner, stdin=b"one\n", limits=SHORT)
    assert (result.ending, result.stdout) == (Ending.WALL_TIMEOUT, b"one\n")
    assert 1.2 <= result.wall_seconds < 4


def test_a_program_that_exits_during_a_conversation_is_no_error(speaker: Sandbox, partner: Partner) -> None:
    partner.reply = lambda _: b"x" * MEBIBYTE + b"\n"
    begun = time.monotonic()
    result = talk(speaker, "import os; input(); print('bye', flush=True); os._exit(3)", partner, stdin=b"one\n")
    assert (result.ending, result.exit_code, result.stdout) == (Ending.EXITED, 3, b"bye\n")
    assert time.monotonic() - begun < 5
    partner.feed.send(b"nobody is there")


def test_a_program_that_never_reads_is_no_deadlock(speaker: Sandbox, partner: Partner) -> None:
    partner.reply = lambda _: b"x" * (4 * MEBIBYTE)
    code = "import sys; print('talk', flush=True); sys.stdout.write('y' * (4 << 20))"
    result = talk(speaker, code, partner)
    assert (result.ending, result.exit_code, len(result.stdout)) == (Ending.EXITED, 0, 5 + 4 * MEBIBYTE)


def test_a_flood_of_messages_reaches_the_limit(speaker: Sandbox, partner: Partner) -> None:
    partner.reply = lambda line: line + b"\n"
    limits = Limits(wall_seconds=10, output_bytes=MEBIBYTE)
    result = talk(speaker, "while True: print('x' * 65535, flush=True)", partner, limits=limits)
    assert (result.ending, len(result.stdout)) == (Ending.OUTPUT_LIMIT, MEBIBYTE)
    assert partner.lines == [b"x" * 65535] * 16
    assert result.wall_seconds < 5


def test_a_partner_that_fails_leaves_no_box(speaker: Sandbox, partner: Partner) -> None:
    def fail(_: bytes) -> bytes:
        raise ZeroDivisionError

    partner.reply = fail
    with pytest.raises(ZeroDivisionError):
        speaker.run(order(ECHO, label=own("failing"), stdin=b"one\n"), dialogue=partner)
    assert leftovers(own("failing")) == []


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small file system")


@pytest.fixture
def small_state(state_dir: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A state folder whose boxes' part has one megabyte, with the environments of the real one."""
    folder = state_dir / f"small-{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "environments").symlink_to(state_dir / "environments")
    parts = [folder / "boxes", folder / "docker-boxes"]
    for part in parts:
        part.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(part)], check=True)
    yield folder
    for part in parts:
        subprocess.run(["umount", str(part)], check=True)
    shutil.rmtree(folder)


@AS_ROOT
def test_a_full_disk_is_reported_and_leaves_nothing(sandbox: Sandbox, small_state: Path, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (2 << 20))
    kind = BubblewrapSandbox if sandbox.name == "bubblewrap" else DockerSandbox
    small: BubblewrapSandbox | DockerSandbox = kind(small_state)
    spec = replace(order("print('never')"), mounts=(Mount(tmp_path, "/box/task"),))
    with pytest.raises(SandboxError, match=r"box test: the host's disk is full.*make room") as caught:
        small.run(spec)
    assert caught.value.public == "the host's disk is full"
    assert not isinstance(caught.value, SandboxUnavailableError)
    left = [entry for part in ("boxes", "docker-boxes") for entry in (small_state / part).iterdir()]
    assert left == []
    assert run(small, "print('small enough')").stdout == b"small enough\n"
    if isinstance(small, DockerSandbox):
        small.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_recognised_by_its_error_number_and_by_a_copy_error(number: int) -> None:
    error = OSError(number, os.strerror(number), "/somewhere/secret")
    for found in (error, shutil.Error([("a", "b", str(error))])):
        reported = host_error("box x", found)
        assert str(reported).startswith(
            "box x: the host's disk is full, or its quota is used up: make room below DATA_DIR"
        )
        assert reported.public == "the host's disk is full"


def test_another_failure_keeps_its_message_and_publishes_no_path() -> None:
    reported = host_error("box x", PermissionError(errno.EACCES, "Permission denied", "/somewhere/secret"))
    assert str(reported) == "box x: the host failed: [Errno 13] Permission denied: '/somewhere/secret'"
    assert reported.public == "the host failed"
