"""Boxes that are forked from a process with imported packages; the tests of the walls run against these as well."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.fork_server import MODULES
from evaluator.sandbox.fork_slots import START_SECONDS, Slot
from evaluator.sandbox.interface import BoxSpec, Ending, Mount, RunCancelledError, SandboxError, SandboxUnavailableError
from tests.evaluator.sandbox.forks import (
    LIMITS,
    WHO,
    kill,
    possible_slots,
    program,
    slots,
    stop,
    terminate,
    wait_for_end,
    who,
)


def test_every_box_whose_program_may_be_forked_is_forked(make: Callable[..., BubblewrapSandbox]) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"  # the first one waits for the server
    assert who(make()) == "forked"  # another process would find the server, too
    assert who(sandbox, may_fork=False) == "started"
    assert who(sandbox, variables=(("PYTORCH_JIT", "0"),)) == "started"
    assert who(make(idle_seconds=0.0)) == "started"


def test_the_environments_imports_are_made_beforehand_unless_the_repository_has_them(
    make: Callable[..., BubblewrapSandbox], tmp_path: Path
) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"
    modules = json.loads(next(slot for slot in slots(sandbox)).control.joinpath(MODULES).read_text())
    assert "selectors" in modules or "socket" in modules
    assert "numpy" not in modules  # the driver imports it before a repository can be seen
    inside = tmp_path / "package"
    inside.mkdir()
    (inside / "__init__.py").touch()
    (inside / "socket.py").touch()
    mounts = (Mount(tmp_path, "/box/repository"),)
    assert who(sandbox, mounts=mounts) == "forked"  # package.socket does not shadow socket
    (tmp_path / "socket.py").touch()
    assert who(sandbox, mounts=mounts) == "started"


def test_a_program_that_is_stopped_takes_its_server_with_it(make: Callable[..., BubblewrapSandbox]) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"
    limits = replace(LIMITS, wall_seconds=1.0)
    assert sandbox.run(program("while True: pass", limits=limits)).ending is Ending.WALL_TIMEOUT
    assert slots(sandbox) == []
    assert who(sandbox) == "forked"
    greedy = sandbox.run(program("x = bytearray(1 << 30); x[::4096] = b'x' * len(x[::4096])"))
    assert greedy.ending is Ending.OUT_OF_MEMORY
    assert slots(sandbox) == []


def test_a_fork_ends_with_the_process_that_requested_it(make: Callable[..., BubblewrapSandbox]) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"
    server = slots(sandbox)
    requester = multiprocessing.get_context("fork").Process(
        target=sandbox.run, args=(program("import time; time.sleep(9)"),)
    )
    requester.start()
    time.sleep(0.5)
    assert requester.pid is not None
    os.kill(requester.pid, signal.SIGKILL)
    requester.join()
    wait_for_end(server[0])
    sandbox.fork_servers.sweep(lambda slot: slot in server and not slot.is_alive())
    assert slots(sandbox) == []
    assert server[0].name not in sandbox._running()


def test_a_run_counts_though_its_files_cannot_be_removed(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Slot) -> None:
        raise OSError(5, "Input/output error")

    sandbox = make()
    assert who(sandbox) == "forked"
    monkeypatch.setattr(Slot, "empty", fails)
    assert who(sandbox) == "forked"
    assert slots(sandbox) == []


def test_checking_whether_a_server_answers_does_not_keep_it_alive(make: Callable[..., BubblewrapSandbox]) -> None:
    sandbox = make(idle_seconds=2.0)
    assert who(sandbox) == "forked"
    wait_for_end(slots(sandbox)[0])


@pytest.mark.parametrize("end", [kill, terminate])
def test_a_box_that_is_killed_from_outside_is_an_infrastructure_error(
    make: Callable[..., BubblewrapSandbox],
    monkeypatch: pytest.MonkeyPatch,
    end: Callable[[BubblewrapSandbox, Slot], None],
) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"
    monkeypatch.setattr(sandbox, "_run", lambda *_: pytest.fail("it ran a second time"))
    with ThreadPoolExecutor() as pool:
        running = pool.submit(sandbox.run, program("import time; time.sleep(20)"))
        time.sleep(1)
        end(sandbox, slots(sandbox)[0])
        with pytest.raises(SandboxError, match="killed from outside"):
            running.result()
    monkeypatch.undo()
    assert who(sandbox) == "forked"  # it does not prevent forking


@pytest.mark.parametrize(("times", "expected"), [(1, "forked"), (2, "started")])
def test_an_order_that_a_server_did_not_accept_is_given_to_one_new_server(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch, times: int, expected: str
) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"
    connect = Slot.connect
    ends: list[socket.socket] = []

    def connect_to_one_that_ends(slot: Slot) -> socket.socket | None:
        found = connect(slot)
        if found is None or len(ends) == times:
            return found
        found.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.close()  # as by a server that timed out
        ends.append(ours)
        return ours

    monkeypatch.setattr(Slot, "connect", connect_to_one_that_ends)
    assert who(sandbox) == expected
    assert len(ends) == times
    monkeypatch.undo()
    assert who(sandbox) == "forked"


def test_any_user_with_the_folder_reaches_the_server(make: Callable[..., BubblewrapSandbox]) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"
    folder = os.open(slots(sandbox)[0].control, os.O_PATH)
    code = f"""
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect("/proc/self/fd/{folder}/socket")
"""
    connected = subprocess.run(
        ["/usr/bin/python3", "-c", code], pass_fds=[folder], user=65533, group=65533, check=False, capture_output=True
    )
    os.close(folder)
    assert connected.stderr == b""


def test_two_programs_at_once_have_two_servers_and_an_idle_one_ends(make: Callable[..., BubblewrapSandbox]) -> None:
    sandbox = make(idle_seconds=3.0)
    spec = program(f"{WHO}; import time; time.sleep(0.7)")
    deadline = time.monotonic() + 30
    outputs: list[bytes] = []
    while outputs != [b"forked\n"] * 2:
        assert time.monotonic() < deadline
        with ThreadPoolExecutor(2) as pool:
            outputs = [result.stdout for result in pool.map(sandbox.run, [spec, spec])]
    assert len(slots(sandbox)) == 2
    for slot in slots(sandbox):
        wait_for_end(slot)
    stop(sandbox)
    assert slots(sandbox) == []


def test_files_that_a_killed_worker_left_in_a_box_are_never_shown(make: Callable[..., BubblewrapSandbox]) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"
    (slots(sandbox)[0].box / "answer.py").write_text("secret")
    assert sandbox.run(program(f"{WHO}; import os; print(os.listdir('/box'))")).stdout == b"forked\n[]\n"


def test_a_mount_may_have_any_depth(forked: BubblewrapSandbox, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("deep")
    mounts = (Mount(tmp_path, "/box/a/b/c"), Mount(tmp_path / "note.txt", "/box/a/one.txt"))
    code = "print(open('/box/a/b/c/note.txt').read(), open('/box/a/one.txt').read())"
    assert forked.run(program(code, mounts=mounts)).stdout == b"deep deep\n"


def test_a_box_with_nested_mounts_is_not_forked(make: Callable[..., BubblewrapSandbox], tmp_path: Path) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"
    for name in ("outer", "outer/place", "inner"):
        (tmp_path / name).mkdir()
    mounts = (Mount(tmp_path / "outer", "/box/a"), Mount(tmp_path / "inner", "/box/a/place"))
    assert who(sandbox, mounts=mounts) == "started"
    assert who(sandbox, mounts=mounts[:1]) == "forked"


def test_a_forbidden_mount_is_refused_with_the_same_message(
    make: Callable[..., BubblewrapSandbox], tmp_path: Path
) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"
    os.mkfifo(tmp_path / "pipe")
    messages = []
    for each in (sandbox, make(idle_seconds=0.0)):
        with pytest.raises(SandboxError, match="only plain files") as caught:
            who(each, mounts=(Mount(tmp_path, "/box/a"),))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_the_sweep_removes_all_files_of_ended_servers(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make(idle_seconds=1.0)
    assert who(sandbox) == "forked"
    ended, elsewhere = slots(sandbox)[0], make(idle_seconds=60.0)
    wait_for_end(ended)
    # As if its instance were gone: only the group is left. A sweep by another test's process may remove them first.
    shutil.rmtree(ended.folder, ignore_errors=True)
    ended.lock.unlink(missing_ok=True)
    # Not 0: another test may have made one at this very moment.
    monkeypatch.setattr(f"{type(sandbox).__module__}.START_SECONDS", 1.0)
    deadline = time.monotonic() + 10
    while ended.name in sandbox._running():
        assert time.monotonic() < deadline
        elsewhere.fork_servers.sweep()
        time.sleep(0.2)
    assert not ended.lock.exists()


@pytest.mark.parametrize("mistake", ["cannot start", "ends at once"])
def test_where_no_server_works_boxes_are_started(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    sandbox = make()
    tries: list[str] = []

    def start(slot: Slot, spec: BoxSpec) -> Callable[[], bool]:
        tries.append(slot.name)
        if mistake == "cannot start":
            raise SandboxError("no")
        slot.log.write_text("bwrap: no")
        return lambda: False

    monkeypatch.setattr(sandbox, "start_server", start)
    other = make()  # another process, which has not tried itself
    monkeypatch.setattr(other, "start_server", start)
    assert [who(each) for each in (sandbox, sandbox, other, other)] == ["started"] * 4
    assert len(tries) == 1
    assert slots(sandbox) == []
    note = possible_slots(other)[0].broken
    assert note.read_text() == ("no" if mistake == "cannot start" else "bwrap: no")
    os.utime(note, (0, 0))  # as after ten minutes
    assert who(other) == "started"
    assert len(tries) == 2
    assert note.exists()
    os.utime(note, (0, 0))
    other.fork_servers.sweep(lambda _: False)
    assert not note.exists()


def test_a_filter_that_could_not_be_loaded_does_not_prevent_forking(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may have used up the kernel's memory for filters, and the next box may find some again."""
    sandbox = make()
    lay_out = Slot.make
    with monkeypatch.context() as patch:
        patch.setattr(Slot, "make", lambda slot, _: lay_out(slot, bytes(8)))
        assert who(sandbox) == "started"
    assert not possible_slots(sandbox)[0].broken.exists()
    assert who(sandbox) == "forked"


def starts_instead(sandbox: BubblewrapSandbox, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let ``sandbox`` run ``code`` in place of every server."""
    start = sandbox.start_server
    argv = ("python", "-c", code)
    monkeypatch.setattr(sandbox, "start_server", lambda slot, spec: start(slot, replace(spec, argv=argv)))


def test_a_server_that_exits_early_is_not_waited_for(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make()
    starts_instead(sandbox, monkeypatch, "raise SystemExit('not today')")
    began = time.monotonic()
    assert who(sandbox) == "started"
    assert time.monotonic() - began < START_SECONDS / 2
    note = possible_slots(sandbox)[0].broken.read_text()
    assert note == "not today\n"


def test_a_server_that_lacks_memory_for_its_imports_reports_it(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make()
    starts_instead(sandbox, monkeypatch, "x = bytearray(4 << 30); x[::4096] = x[::4096]")
    assert who(sandbox) == "started"
    assert "raise imports_mb" in possible_slots(sandbox)[0].broken.read_text()


def test_an_error_of_the_host_does_not_prevent_forking(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(slot: Slot, spec: BoxSpec) -> Callable[[], bool]:
        raise SandboxUnavailableError("the engine went away")

    sandbox = make()
    monkeypatch.setattr(sandbox, "start_server", unavailable)
    with pytest.raises(SandboxUnavailableError, match="the engine went away"):
        who(sandbox)
    monkeypatch.undo()
    assert who(sandbox) == "forked"


def test_a_server_that_does_not_begin_in_time_is_given_up(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make()
    monkeypatch.setattr(sandbox, "start_server", lambda *_: lambda: True)
    monkeypatch.setattr("evaluator.sandbox.forking.START_SECONDS", 1.0)
    assert who(sandbox) == "started"
    assert possible_slots(sandbox)[0].broken.read_text() == "it did not start in 1 s"


def test_waiting_for_a_server_can_be_cancelled(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make()
    monkeypatch.setattr(sandbox, "start_server", lambda *_: lambda: True)
    with pytest.raises(RunCancelledError):
        sandbox.run(program(WHO), cancelled=lambda: True)
    monkeypatch.undo()
    assert who(sandbox) == "forked"


def test_a_worker_that_died_before_it_started_a_server_does_not_prevent_forking(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make()

    def dies(slot: Slot, spec: BoxSpec) -> Callable[[], bool]:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "start_server", dies)
        with pytest.raises(SystemExit):
            who(sandbox)
    assert who(sandbox) == "forked"
    assert not possible_slots(sandbox)[0].broken.exists()
