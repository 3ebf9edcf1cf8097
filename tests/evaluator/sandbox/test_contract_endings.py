"""What both sandboxes promise about how a program ends and what comes out of it; the attacks try the same by force."""

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


def test_a_cancelled_run_is_stopped_and_removed(sandbox: Sandbox) -> None:
    begun = time.monotonic()
    spec = order("import time; time.sleep(60)", label=own("cancel"))
    with pytest.raises(RunCancelledError):
        sandbox.run(spec, cancelled=lambda: time.monotonic() > begun + 1)
    assert time.monotonic() - begun < 8
    assert leftovers(own("cancel")) == []
