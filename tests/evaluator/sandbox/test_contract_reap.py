"""A worker killed in the middle of a run: what it left is found, and only that."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.sandbox.types import RunCancelledError, Sandbox
from tests.evaluator.sandbox.boxes import leftovers, order, own

pytestmark = pytest.mark.xdist_group("boxes-of-runs")

WORKER = """
import sys
from pathlib import Path
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.types import BoxSpec, Mount
kind, state_dir, label, source = sys.argv[1:]
spec = BoxSpec(
    label=label,
    argv=("python", "-c", f"import time; time.sleep(60)  # marker-{label}"),
    mounts=(Mount(Path(source), "/box/file"),),
)
{"bubblewrap": BubblewrapSandbox, "docker": DockerSandbox}[kind](Path(state_dir)).run(spec)
"""


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
    """Until the program itself, not what starts it, is seen."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if command[0].endswith(b"python3") and command[1:3] == [b"-I", b"-B"] and marker.encode() in command[-2]:
                return
        time.sleep(0.05)
    raise AssertionError(f"no program {marker} was started")


def test_what_a_killed_worker_left_is_removed(sandbox: Sandbox, killed_worker: str, state_dir: Path) -> None:
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
