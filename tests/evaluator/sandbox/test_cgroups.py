"""Control groups: which are found, what is written, and killing for real on both versions."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.sandbox.cgroups import Group, GroupStore, Hierarchies, ResourceUsage, read_hierarchies
from evaluator.sandbox.types import Limits, SandboxError

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
    (memory / "memory.memsw.limit_in_bytes").touch()
    (memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    (memory / "memory.max_usage_in_bytes").write_text("77\n")
    (tmp_path / "cpuacct" / "box" / "cpuacct.usage").write_text("1500000000\n")
    group = Group({name: parent / "box" for name, parent in parents.items()})
    group.limit(LIMITS)
    assert (memory / "memory.limit_in_bytes").read_text() == "1000"
    assert (memory / "memory.memsw.limit_in_bytes").read_text() == "1000"
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
    assert killed <= inside | killed


@pytest.mark.bubblewrap
def test_a_group_that_cannot_be_made_leaves_no_half(tmp_path: Path) -> None:
    parents = {name: tmp_path / name for name in ("memory", "pids", "cpu", "cpuacct")}
    for name in ("memory", "pids", "cpu"):
        parents[name].mkdir()
    parents["cpuacct"].write_text("a file where a folder should be")
    store = GroupStore(Hierarchies(v1=parents, v2=None))
    with pytest.raises(SandboxError, match="control group for box x could not be made"):
        store.create("x", LIMITS)
    assert [path for name in ("memory", "pids", "cpu") for path in (parents[name] / "lmr-board").iterdir()] == []


@pytest.mark.bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups")
def test_all_boxes_together_weigh_as_much_as_a_process_for_each_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a parent of this test's own, since the real one is there already."""
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
