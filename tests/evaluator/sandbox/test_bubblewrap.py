"""What is bubblewrap's own: the host user, its errors, other interpreters, the development override."""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from evaluator.sandbox.bubblewrap import DEFAULT_HOST_ID, BubblewrapSandbox
from evaluator.sandbox.cgroups import GroupStore, Hierarchies
from evaluator.sandbox.environments import prepare_environment
from evaluator.sandbox.types import Ending, Limits, SandboxError, SandboxUnavailableError
from tests.evaluator.sandbox.boxes import leftovers, order, own, run

pytestmark = pytest.mark.bubblewrap

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another user")


@AS_ROOT
def test_a_file_of_root_cannot_be_read_even_where_it_can_be_seen(
    bubblewrap: BubblewrapSandbox, state_dir: Path
) -> None:
    bubblewrap.check()
    secret = prepare_environment("numpy", state_dir).root / "usr" / "root-only"
    secret.write_text("secret")
    secret.chmod(0o600)
    try:
        result = run(bubblewrap, "import os; print(os.path.exists('/usr/root-only')); open('/usr/root-only')")
    finally:
        secret.unlink()
    assert result.stdout == b"True\n"
    assert b"PermissionError" in result.stderr


@AS_ROOT
def test_the_host_sees_the_dedicated_user(bubblewrap: BubblewrapSandbox) -> None:
    seen: set[str] = set()

    def look() -> bool:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if b"marker-user" in (folder / "cmdline").read_bytes() and folder.name != str(os.getpid()):
                    seen.update(re.findall(r"^(?:Uid|Gid):.*", (folder / "status").read_text(), re.MULTILINE))
        return False

    run(bubblewrap, "import time; time.sleep(1.2)  # marker-user", cancelled=look)
    identity = "\t".join([str(DEFAULT_HOST_ID)] * 4)
    assert {f"Uid:\t{identity}", f"Gid:\t{identity}"} <= seen


def test_no_dead_process_is_left_to_wait_for(bubblewrap: BubblewrapSandbox) -> None:
    """A worker for months would otherwise run out of process numbers; which dies first is chance, hence the number."""

    def dead_children() -> set[str]:
        found = set()
        for file in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, parent = file.read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state == "Z" and int(parent) == os.getpid():
                found.add(file.parent.name)
        return found

    before = dead_children()
    for _ in range(12):
        run(bubblewrap, "while True: print('x' * 65536)", limits=Limits(wall_seconds=10, output_bytes=1000))
    assert dead_children() <= before


def test_an_interpreter_of_its_own_below_any_folder(
    bubblewrap: BubblewrapSandbox, state_dir: Path, tmp_path: Path
) -> None:
    sandbox = BubblewrapSandbox(state_dir, python=Path(sys.executable))
    result = run(sandbox, "import numpy, ssl, sqlite3, ctypes, sys; print(sys.version_info[:2], numpy.ones(3).sum())")
    assert result.stdout == f"{sys.version_info[:2]} 3.0\n".encode(), result.stderr


def test_a_box_that_cannot_be_set_up_is_our_fault_not_the_programs(bubblewrap: BubblewrapSandbox) -> None:
    with pytest.raises(SandboxError, match=r"box test could not be set up"):
        run(bubblewrap, "print('never')", limits=Limits(open_files=4))


def test_a_box_that_is_killed_from_outside_is_our_fault(bubblewrap: BubblewrapSandbox) -> None:
    label = own("outside")

    def kill_bubblewrap() -> bool:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command = (folder / "cmdline").read_bytes()
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if b"bwrap" in command and label.encode() in command and parent == os.getpid():
                    os.kill(int(folder.name), signal.SIGKILL)
        return False

    with pytest.raises(SandboxError, match=r"was killed from outside \(signal 9\)"):
        bubblewrap.run(order("import time; time.sleep(60)", label=label), cancelled=kill_bubblewrap)
    assert leftovers(label) == []


@AS_ROOT
def test_without_control_groups_it_refuses_unless_told_otherwise(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(cls: type[GroupStore]) -> GroupStore:
        return GroupStore(Hierarchies(v1={}, v2=None))

    monkeypatch.setattr(GroupStore, "of_this_machine", classmethod(none))
    with pytest.raises(SandboxUnavailableError, match="no control groups are mounted"):
        BubblewrapSandbox(state_dir).check()
    override = BubblewrapSandbox(state_dir, allow_unconfined_resources=True)
    override.check()
    result = run(override, "import os; print(os.getuid()); x = b'x' * (600 << 20)")
    assert (result.exit_code, result.stdout) == (1, b"65534\n")
    assert b"MemoryError" in result.stderr
    assert run(override, "while True: pass", limits=Limits(cpu_seconds=1)).ending is Ending.CPU_TIMEOUT
    assert override.reap(keep=lambda _: False) == 0


def test_processor_time_of_all_processes_counts(bubblewrap: BubblewrapSandbox) -> None:
    code = """
        import os
        while True:
            if os.fork() == 0:
                for _ in range(3_000_000): pass
                os._exit(0)
            os.wait()
    """
    result = run(bubblewrap, code, limits=Limits(wall_seconds=30, cpu_seconds=1))
    assert result.ending is Ending.CPU_TIMEOUT


def test_an_exit_code_like_bubblewraps_own_is_the_programs(bubblewrap: BubblewrapSandbox) -> None:
    result = run(bubblewrap, "import sys; print('bwrap: no', file=sys.stderr); sys.exit(1)")
    assert (result.ending, result.exit_code) == (Ending.EXITED, 1)
