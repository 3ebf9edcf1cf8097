"""What both sandboxes promise about how a program ends and what comes out of it."""

from __future__ import annotations

import time

import pytest

from evaluator.sandbox.types import Ending, Limits, RunCancelledError, Sandbox
from tests.evaluator.sandbox.boxes import leftovers, order, own, run

MEBIBYTE = 1024 * 1024
SHORT = Limits(wall_seconds=1.2, cpu_seconds=10)


def test_exit_code_and_both_streams_come_back(sandbox: Sandbox) -> None:
    result = run(sandbox, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (result.ending, result.exit_code, result.signal) == (Ending.EXITED, 7, None)
    assert (result.stdout, result.stderr, result.stderr_truncated) == (b"out\n", b"err\n", False)
    assert 0 < result.wall_seconds < 5


def test_stdin_is_sent_whole_and_then_closed(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * (3 * MEBIBYTE // 256)
    result = run(sandbox, "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", stdin=data)
    assert result.ending is Ending.EXITED
    assert result.stdout == data


def test_sleeping_past_the_wall_time_is_stopped(sandbox: Sandbox) -> None:
    result = run(sandbox, "import time; print('begun', flush=True); time.sleep(60)", limits=SHORT)
    assert result.ending is Ending.WALL_TIMEOUT
    assert (result.stdout, result.exit_code) == (b"begun\n", None)
    assert 1.2 <= result.wall_seconds < 4


def test_ignored_signals_and_a_stopped_parent_do_not_outlast_the_wall_time(sandbox: Sandbox) -> None:
    code = """
        import os, signal, time
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            os.kill(os.getppid(), signal.SIGSTOP)
        time.sleep(60)
    """
    assert run(sandbox, code, limits=SHORT).ending is Ending.WALL_TIMEOUT


@pytest.mark.parametrize("precaution", ["", "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)"])
def test_a_busy_loop_is_stopped_for_its_processor_time(sandbox: Sandbox, precaution: str) -> None:
    # On a busy machine a second of processor time may take many of wall time.
    result = run(sandbox, f"{precaution}\nwhile True: pass", limits=Limits(wall_seconds=60.0, cpu_seconds=1))
    assert result.ending is Ending.CPU_TIMEOUT
    assert result.wall_seconds < 30


def test_too_much_memory_in_many_processes(sandbox: Sandbox) -> None:
    code = """
        import os, time
        children = []
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                x = b"x" * (40 * 1024 * 1024)
                time.sleep(1)
                os._exit(0)
            children.append(pid)
        for pid in children:
            os.waitpid(pid, 0)
    """
    result = run(sandbox, code, limits=Limits(wall_seconds=10, memory_bytes=128 * MEBIBYTE))
    assert result.ending is Ending.OUT_OF_MEMORY


def test_a_fork_bomb_meets_its_limit_and_leaves_nothing(sandbox: Sandbox) -> None:
    code = """
        import os
        while True:
            try:
                os.fork()
            except BlockingIOError:
                pass
    """
    limits = Limits(wall_seconds=1.2, cpu_seconds=30, processes=32)
    result = sandbox.run(order(code, label=own("bomb"), limits=limits))
    assert result.ending is Ending.WALL_TIMEOUT
    assert leftovers(own("bomb")) == []


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


def test_unread_input_is_no_deadlock(sandbox: Sandbox) -> None:
    code = "import sys; sys.stdout.write('x' * (4 << 20))"
    result = run(sandbox, code, stdin=b"i" * (4 * MEBIBYTE))
    assert (result.ending, result.exit_code, len(result.stdout)) == (Ending.EXITED, 0, 4 * MEBIBYTE)


def test_a_segmentation_fault_is_a_signal(sandbox: Sandbox) -> None:
    result = run(sandbox, "import ctypes; ctypes.string_at(0)")
    assert (result.ending, result.exit_code, result.signal) == (Ending.SIGNALLED, None, 11)


def test_a_daemon_does_not_keep_the_box_alive(sandbox: Sandbox) -> None:
    code = """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(60)
            os._exit(0)
        os.wait()
        print("parent done")
    """
    result = sandbox.run(order(code, label=own("daemon")))
    assert (result.ending, result.stdout) == (Ending.EXITED, b"parent done\n")
    assert result.wall_seconds < 5
    assert leftovers(own("daemon")) == []


def test_a_cancelled_run_is_stopped_and_removed(sandbox: Sandbox) -> None:
    begun = time.monotonic()
    spec = order("import time; time.sleep(60)", label=own("cancel"))
    with pytest.raises(RunCancelledError):
        sandbox.run(spec, cancelled=lambda: time.monotonic() > begun + 1)
    assert time.monotonic() - begun < 8
    assert leftovers(own("cancel")) == []
