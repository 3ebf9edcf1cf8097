"""Specifics of bubblewrap: the host user, its errors, control groups of both versions, scopes of a user session."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from evaluator.sandbox import confinement
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.cgroups import Group, GroupStore, Hierarchies, ResourceUsage, read_hierarchies
from evaluator.sandbox.confinement import REPORT_COUNTERS, ScopeConfinement, scope_command, tool
from evaluator.sandbox.environments import prepare_environment
from evaluator.sandbox.host_users import DEFAULT_HOST_ID, HOST_USERS
from evaluator.sandbox.interface import Ending, Limits, SandboxError, SandboxUnavailableError
from tests.evaluator.sandbox.boxes import leftovers, order, own, processes, run

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
    seen: set[tuple[str, str]] = set()

    def look() -> bool:
        for pid in processes("marker-user"):
            with suppress(OSError):
                seen.update(re.findall(r"^(Uid|Gid):(.*)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE))
        return False

    run(bubblewrap, "import time; time.sleep(1.2)  # marker-user", cancelled=look)
    identities = {f"\t{number}" * 4 for number in range(DEFAULT_HOST_ID, DEFAULT_HOST_ID + HOST_USERS)}
    found = {identity for _, identity in seen} & identities
    assert len(found) == 1
    assert {("Uid", *found), ("Gid", *found)} <= seen


def test_no_zombie_is_left(bubblewrap: BubblewrapSandbox) -> None:
    """Otherwise a long-lived worker would run out of process numbers. Which one dies first is random: try 12 times."""

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


def test_the_interpreter_may_lie_below_any_folder(
    bubblewrap: BubblewrapSandbox, state_dir: Path, tmp_path: Path
) -> None:
    sandbox = BubblewrapSandbox(state_dir, python=Path(sys.executable))
    result = run(sandbox, "import numpy, ssl, sqlite3, ctypes, sys; print(sys.version_info[:2], numpy.ones(3).sum())")
    assert result.stdout == f"{sys.version_info[:2]} 3.0\n".encode(), result.stderr


def test_a_box_that_cannot_be_set_up_is_an_infrastructure_error(bubblewrap: BubblewrapSandbox) -> None:
    with pytest.raises(SandboxError, match=r"box test could not be set up"):
        run(bubblewrap, "print('never')", limits=Limits(open_files=4))


def test_a_box_that_is_killed_from_outside_is_an_infrastructure_error(bubblewrap: BubblewrapSandbox) -> None:
    label = own("outside")

    def kill_bubblewrap() -> bool:
        for pid, command in processes(label).items():
            with suppress(OSError):
                parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
                if command[0].endswith("bwrap") and parent == os.getpid():
                    os.kill(pid, signal.SIGKILL)
        return False

    with pytest.raises(SandboxError, match=r"was killed from outside \(signal 9\)"):
        bubblewrap.run(order("import time; time.sleep(60)", label=label), cancelled=kill_bubblewrap)
    assert leftovers(label) == []


@AS_ROOT
def test_without_control_groups_it_refuses_unless_overridden(
    bubblewrap: BubblewrapSandbox, state_dir: Path, monkeypatch: pytest.MonkeyPatch
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


def test_an_exit_code_like_bubblewraps_own_counts_as_the_programs(bubblewrap: BubblewrapSandbox) -> None:
    result = run(bubblewrap, "import sys; print('bwrap: no', file=sys.stderr); sys.exit(1)")
    assert (result.ending, result.exit_code) == (Ending.EXITED, 1)


LIMITS = Limits(memory_bytes=1000, processes=10)


V2_ONLY = "30 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


HYBRID = """\
24 1 254:0 / / rw - ext4 /dev/vda rw
32 31 0:28 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw
33 31 0:29 / /sys/fs/cgroup/memory rw shared:11 - cgroup cgroup rw,memory
34 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:12 - cgroup cgroup rw,cpu,cpuacct
35 31 0:31 / /sys/fs/cgroup/pids rw shared:13 - cgroup cgroup rw,pids
"""


def test_version_2_alone() -> None:
    assert read_hierarchies(V2_ONLY) == Hierarchies(v1={}, v2=Path("/sys/fs/cgroup"))
    group = GroupStore(read_hierarchies(V2_ONLY)).find("box")
    assert group.join_files() == (Path("/sys/fs/cgroup/lmr-board/box/cgroup.procs"),)


def test_hybrid_uses_version_1_and_shared_mounts_once() -> None:
    group = GroupStore(read_hierarchies(HYBRID)).find("box")
    assert [str(path) for path in group.join_files()] == [
        "/sys/fs/cgroup/memory/lmr-board/box/cgroup.procs",
        "/sys/fs/cgroup/pids/lmr-board/box/cgroup.procs",
        "/sys/fs/cgroup/cpu,cpuacct/lmr-board/box/cgroup.procs",
    ]


def test_limits_and_counters_of_version_1(tmp_path: Path) -> None:
    parents = {name: tmp_path / name for name in ("memory", "pids", "cpu", "cpuacct")}
    for parent in parents.values():
        (parent / "box").mkdir(parents=True)
    memory = tmp_path / "memory" / "box"
    for name in ("memory.memsw.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes"):
        (memory / name).touch()
    (memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    (memory / "memory.max_usage_in_bytes").write_text("77\n")
    (tmp_path / "cpuacct" / "box" / "cpuacct.usage").write_text("1500000000\n")
    group = Group({name: parent / "box" for name, parent in parents.items()})
    group.limit(LIMITS)
    assert (memory / "memory.limit_in_bytes").read_text() == "1000"
    assert (memory / "memory.memsw.limit_in_bytes").read_text() == "1000"
    assert (memory / "memory.kmem.tcp.limit_in_bytes").read_text() == "16777216"
    assert (tmp_path / "pids" / "box" / "pids.max").read_text() == "12"
    assert (tmp_path / "cpu" / "box" / "cpu.cfs_quota_us").read_text() == "100000"
    assert group.usage() == ResourceUsage(2, 1.5, 77)


def real_version_2() -> Path:
    """A real, empty group of version 2 (its core needs no controller)."""
    mount = read_hierarchies(Path("/proc/self/mountinfo").read_text()).v2
    if os.geteuid() != 0 or mount is None:
        pytest.skip("needs root and a mounted control group version 2")
    directory = mount / f"lmr-board-test-{os.getpid()}"
    directory.mkdir()
    return directory


def test_version_2_kills_a_tree_that_keeps_forking() -> None:
    directory = real_version_2()
    group = Group({"": directory})
    program = f"""
import os, time
open({str(directory / "cgroup.procs")!r}, "w").write("0")
deadline = time.time() + 30
while time.time() < deadline:
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)
    time.sleep(0.01)
"""
    process = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 10
    while len(group.processes()) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    inside = group.processes()
    assert process.pid in inside
    assert len(inside) >= 3
    assert int((directory / "cpu.stat").read_text().split()[1]) > 0
    killed = group.destroy()
    assert process.wait() == -9
    assert not directory.exists()
    assert killed >= inside


def test_a_group_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    parents = {name: tmp_path / name for name in ("memory", "pids", "cpu", "cpuacct")}
    for name in ("memory", "pids", "cpu"):
        parents[name].mkdir()
    parents["cpuacct"].write_text("a file where a folder should be")
    store = GroupStore(Hierarchies(v1=parents, v2=None))
    with pytest.raises(SandboxError, match="control group for box x could not be made"):
        store.create("x", LIMITS)
    assert [path for name in ("memory", "pids", "cpu") for path in (parents[name] / "lmr-board").iterdir()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups")
def test_all_boxes_together_weigh_as_much_as_a_process_for_each_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a parent of this test's own, since the real one exists already."""
    monkeypatch.setattr("evaluator.sandbox.cgroups.PARENT", f"lmr-board-test-{os.getpid()}")
    store = GroupStore.of_this_machine()
    parents = set(store._parents.values())
    store.create("x", Limits()).destroy()
    try:
        files = [parent / name for parent in parents for name in ("cpu.shares", "cpu.weight")]
        (file,) = [file for file in files if file.exists()]
        usual = {"cpu.shares": 1024, "cpu.weight": 100}[file.name]
        assert int(file.read_text()) == min(usual * (os.cpu_count() or 1), 10_000)
        file.write_text(str(usual))
        store.create("x", Limits()).destroy()
        assert int(file.read_text()) == usual
    finally:
        for parent in parents:
            parent.rmdir()


def test_limits_and_counters_of_version_2(tmp_path: Path) -> None:
    (tmp_path / "memory.swap.max").touch()
    group = Group({"": tmp_path})
    group.limit(LIMITS)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "memory.max": "1000", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "12",
        "cpu.max": "100000 100000",
    }  # fmt: skip
    (tmp_path / "memory.events").write_text("low 0\noom 5\noom_kill 3\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    assert group.usage() == ResourceUsage(3, 2.5, None)
    (tmp_path / "memory.peak").write_text("4096\n")
    assert group.usage().peak_memory == 4096


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime folder and the program of a systemd user session."""
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd-run").write_text("#!/bin/sh\n")
    (tmp_path / "systemd-run").chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.usefixtures("session")
def test_a_scope_has_every_limit() -> None:
    command = scope_command("run-1.x", LIMITS, 9)
    assert command[1:6] == ["--user", "--scope", "--quiet", "--collect", "--unit=lmr-board-run-1.x.scope"]
    assert command[6:11] == [
        "--property=MemoryMax=1000",
        "--property=MemorySwapMax=0",
        "--property=TasksMax=14",
        "--property=CPUQuota=100%",
        "--property=Delegate=yes",
    ]
    assert command[12:14] == ["--pdeathsig", "KILL"]
    assert command[-2:] == ["9", "1000"]


def test_without_a_session_the_error_gives_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")
    with pytest.raises(SandboxUnavailableError, match=r"run the worker as root, or in a systemd user session"):
        scope_command("run-1", LIMITS, 9)


@pytest.mark.usefixtures("session")
def test_the_final_report_is_read() -> None:
    scope = ScopeConfinement("run-1", LIMITS, 9)
    report = '{ "child-pid": 5 }\n{ "exit-code": 137 }\nlow 0\noom_kill 2\nusage_usec 1500000\n'
    assert scope.final_usage(report) == ResourceUsage(oom_kills=2, cpu_seconds=1.5, peak_memory=None)
    assert scope.final_usage("") == ResourceUsage()
    assert scope.destroy() == set()


@pytest.mark.usefixtures("session")
def test_a_process_outside_any_scope_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "_APPEAR_SECONDS", 0.05)
    with pytest.raises(SandboxError, match="did not give box run-1 a scope"):
        ScopeConfinement("run-1", LIMITS, 9).started(os.getpid())


def test_a_missing_program_is_named_with_its_package() -> None:
    with pytest.raises(SandboxUnavailableError, match=r"no-such-tool is not on PATH: .*apt-get install its-package"):
        tool("no-such-tool", "its-package")


@pytest.mark.usefixtures("session")
def test_a_box_that_ended_before_its_scope_was_seen_is_no_error() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie, whose scope may be gone
    scope = ScopeConfinement("run-1", LIMITS, 9)
    scope.started(process.pid)
    process.wait()
    assert scope.destroy() == set()


class _Shell(NamedTuple):
    code: int
    output: str
    report: str
    errors: str


def shell_beside_a_box(folder: Path, memory_max: str | None) -> _Shell:
    """Run the shell with a group in ``folder`` that has this limit, as the shell would in /sys/fs/cgroup."""
    folder.mkdir()
    for name, text in (("memory.events", "oom_kill 1\n"), ("cpu.stat", "usage_usec 5\n"), ("memory.max", memory_max)):
        if text is not None:
            (folder / name).write_text(text)
    (folder / "self").write_text("0::/\n")
    script = REPORT_COUNTERS.replace("/proc/self/cgroup", str(folder / "self")).replace("/sys/fs/cgroup", str(folder))
    reader, writer = os.pipe()
    command = ["sh", "-c", script, "sh", str(writer), "1000", "sh", "-c", "echo ran; exit 7"]
    done = subprocess.run(command, pass_fds=[writer], capture_output=True, text=True, check=False)
    os.close(writer)
    with os.fdopen(reader) as report:
        return _Shell(done.returncode, done.stdout, report.read(), done.stderr)


def test_the_shell_beside_the_box_reports_and_ends_as_the_box_did(tmp_path: Path) -> None:
    assert shell_beside_a_box(tmp_path / "group", "1000\n") == (7, "ran\n", "oom_kill 1\nusage_usec 5\n", "")


@pytest.mark.parametrize("memory_max", ["max\n", None])
def test_the_shell_starts_no_box_without_its_memory_limit(tmp_path: Path, memory_max: str | None) -> None:
    done = shell_beside_a_box(tmp_path / "group", memory_max)
    assert (done.code, done.output, done.report) == (125, "", "")
    assert "this scope has no memory limit: is memory delegated?" in done.errors


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENODEV])
@pytest.mark.parametrize("name", ["pids.max", "cgroup.kill"])
def test_a_group_that_another_process_removes_at_that_moment_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    """A scope is removed by systemd as soon as its last process has ended."""
    folder = tmp_path / "box"
    folder.mkdir()
    (folder / "keeps-it-busy").touch()
    written: list[str] = []

    def write(path: Path, text: str) -> int:
        written.append(path.name)
        if path.name == name:
            (folder / "keeps-it-busy").unlink(missing_ok=True)
            raise OSError(number, os.strerror(number))
        return len(text)

    monkeypatch.setattr(Path, "write_text", write)
    assert Group({"": folder}).destroy() == set()
    assert name in written
    assert not folder.exists()
