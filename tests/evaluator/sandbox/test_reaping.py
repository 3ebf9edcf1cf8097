"""A worker killed in the middle of a run: its leftovers are found by their name, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.queue.processes import Owner
from evaluator.sandbox.box_names import BoxName
from evaluator.sandbox.interface import BoxSpec, Limits, RunCancelledError, Sandbox
from tests.evaluator.sandbox.boxes import leftovers, order, own, processes

pytestmark = pytest.mark.xdist_group("boxes-of-runs")

SPEC = BoxSpec(label="run-1", argv=("python",), mounts=(), limits=Limits(wall_seconds=5.0))


def test_a_name_reads_back() -> None:
    name = BoxName.fresh(SPEC)
    assert BoxName.parse(str(name)) == name
    assert name.label == "run-1"
    assert 64 <= name.deadline - time.time() + 1 <= 66


@pytest.mark.parametrize(
    "text", ["", "cgroup.procs", "a.b.c.d", "run-1.1-2.3.ff", "run-1.1-2-3.soon.ff", "None.None.None.x"]
)
def test_other_names_are_not_parsed(text: str) -> None:
    assert BoxName.parse(text) is None


def test_a_living_owner_keeps_its_box_until_the_deadline() -> None:
    name = BoxName.fresh(SPEC)
    assert not name.is_left_over(keep=lambda _: False)
    late = BoxName(name.label, name.owner, int(time.time()) - 1, name.nonce)
    assert late.is_left_over(keep=lambda _: False)
    assert not late.is_left_over(keep=lambda label: label == "run-1")


def test_a_dead_owners_box_is_left_over_unless_claimed() -> None:
    process = subprocess.Popen(["sleep", "60"])
    here = Owner.current()
    started = int(_stat_field(process.pid, 22))
    owner = Owner(here.namespace, process.pid, started)
    name = BoxName("run-1", owner, int(time.time()) + 60, "ff")
    assert not owner.is_dead()
    process.kill()
    process.wait()
    assert owner.is_dead()
    assert name.is_left_over(keep=lambda _: False)
    assert not name.is_left_over(keep=lambda _: True)


def _stat_field(pid: int, number: int) -> str:
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[number - 3]


def test_a_reused_number_is_another_process_and_one_of_another_namespace_counts_as_alive() -> None:
    here = Owner.current()
    assert Owner(here.namespace, os.getpid(), here.started + 1).is_dead()
    assert not Owner(here.namespace + 1, 999_999_999, 1).is_dead()


WORKER = """
import sys
from pathlib import Path
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.interface import BoxSpec, Mount
kind, state_dir, label, source = sys.argv[1:]
spec = BoxSpec(
    label=label,
    argv=("python", "-c", f"import time; time.sleep(60)  # marker-{label}"),
    mounts=(Mount(Path(source), "/box/file"),),
)
{"bubblewrap": BubblewrapSandbox, "docker": DockerSandbox}[kind](Path(state_dir)).run(spec)
"""


@pytest.fixture
def sandbox(each_sandbox: Sandbox) -> Sandbox:
    """Started boxes only: forked boxes end with the process for which they are forked."""
    return each_sandbox


@pytest.fixture
def killed_worker(sandbox: Sandbox, state_dir: Path, tmp_path: Path) -> Iterator[str]:
    """The label of a box whose worker got SIGKILL while the program ran."""
    label = own(f"orphan-{sandbox.name}")
    (tmp_path / "private").write_text("x")
    (tmp_path / "private").chmod(0o600)
    arguments = [sys.executable, "-c", WORKER, sandbox.name, str(state_dir), label, str(tmp_path / "private")]
    worker = subprocess.Popen(arguments)
    try:
        _wait_until_running(f"marker-{label}")
    finally:
        worker.kill()
        worker.wait()
    yield label
    sandbox.reap(keep=lambda other: other != label)


def _wait_until_running(marker: str) -> None:
    """Wait until the program itself is running, not only what starts it."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if any(
            command[0].endswith("python3") and command[1:3] == ["-I", "-B"] for command in processes(marker).values()
        ):
            return
        time.sleep(0.05)
    raise AssertionError(f"no program {marker} was started")


@pytest.mark.smoke
def test_leftovers_of_a_killed_worker_are_removed(sandbox: Sandbox, killed_worker: str, state_dir: Path) -> None:
    assert sandbox.reap(keep=lambda _: True) == 0
    assert leftovers(killed_worker) != [], "a claimed label is kept"
    assert sandbox.reap(keep=lambda label: label != killed_worker) == 1
    assert leftovers(killed_worker) == []
    assert list(state_dir.glob(f"*boxes/{killed_worker}.*")) == []
    assert sandbox.reap(keep=lambda label: label != killed_worker) == 0


def test_a_running_box_of_a_living_worker_is_left_alone(sandbox: Sandbox) -> None:
    label = own(f"alive-{sandbox.name}")
    spec = order("import time; time.sleep(60)", label=label)
    stop = threading.Event()
    endings: list[type] = []

    def work() -> None:
        try:
            sandbox.run(spec, cancelled=stop.is_set)
        except RunCancelledError as error:
            endings.append(type(error))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        _wait_until_running(f"marker-{label}")
        assert sandbox.reap(keep=lambda other: other != label) == 0
        assert leftovers(label) != []
    finally:
        stop.set()
        thread.join()
    assert endings == [RunCancelledError]
    assert leftovers(label) == []
