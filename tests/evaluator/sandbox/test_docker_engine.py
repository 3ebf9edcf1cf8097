"""What is Docker's own: its settings as the engine holds them, and its errors."""

from __future__ import annotations

import gc
import importlib
import os
import re
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import pytest

from evaluator.sandbox import docker_engine
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.types import Ending, RunCancelledError, SandboxError, SandboxUnavailableError
from tests.evaluator.sandbox.boxes import leftovers, order, own, run

pytestmark = pytest.mark.docker


def engine() -> Any:
    """The SDK's client; the SDK has no types."""
    return importlib.import_module("docker").from_env()


def test_the_engine_holds_every_setting(docker: DockerSandbox) -> None:
    client = engine()
    found: list[dict] = []

    def look() -> bool:
        running = client.containers.list(filters={"label": f"lmr-board-box={own('settings')}"})
        found.extend(container.attrs for container in running)
        return bool(found)

    with pytest.raises(RunCancelledError):
        docker.run(order("import time; time.sleep(20)", label=own("settings")), cancelled=look)
    client.close()
    host = found[0]["HostConfig"]
    expected = {
        "NetworkMode": "none", "IpcMode": "private", "CapDrop": ["ALL"], "CapAdd": None, "Privileged": False,
        "ReadonlyRootfs": True, "Memory": 512 << 20, "MemorySwap": 512 << 20, "PidsLimit": 65, "NanoCpus": 10**9,
        "OomScoreAdj": 500, "ShmSize": 16 << 20, "SecurityOpt": ["no-new-privileges"], "Binds": None,
        "Devices": None,
    }  # fmt: skip
    assert {key: host[key] for key in expected} == expected
    assert host["RestartPolicy"]["Name"] in {"", "no"}
    assert host["LogConfig"]["Type"] == "none"
    assert host["Tmpfs"] == {"/tmp": "rw,noexec,nosuid,nodev,mode=1777,size=67108864,nr_inodes=4096"}
    ulimits = {entry["Name"]: (entry["Soft"], entry["Hard"]) for entry in host["Ulimits"]}
    assert ulimits == {"core": (0, 0), "nofile": (256, 256), "fsize": (32 << 20, 32 << 20), "cpu": (5, 6)}
    assert found[0]["Config"]["User"] == "65534:65534"
    assert found[0]["Image"].startswith("sha256:")
    assert found[0]["Config"]["Healthcheck"] == {"Test": ["NONE"]}


def test_a_forked_process_has_connections_of_its_own(docker: DockerSandbox) -> None:
    client = docker._connection.client()
    child = os.fork()
    if child == 0:
        another = docker._connection.client()
        os._exit(0 if another is not client and another.ping() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert docker._connection.client() is client
    assert run(docker, "print('ours')").stdout == b"ours\n"


def test_an_engine_that_is_gone(state_dir: Path, tmp_path: Path) -> None:
    sandbox = DockerSandbox(state_dir, base_url=f"unix://{tmp_path}/no.sock")
    message, public = unavailable(sandbox.check)
    assert re.match(r"no Docker engine answers .* DOCKER_HOST", message)
    assert public == "the sandbox engine does not answer"


def test_an_engine_that_goes_away_while_a_box_runs(state_dir: Path, tmp_path: Path) -> None:
    """A relay stands for the engine's socket, since nobody else's engine may be stopped here."""
    label = own("gone")
    with relayed(tmp_path / "relay.sock") as stop:
        sandbox = DockerSandbox(state_dir, base_url=f"unix://{tmp_path}/relay.sock")
        threading.Timer(1.5, stop).start()
        message, public = unavailable(lambda: sandbox.run(order("import time; time.sleep(60)", label=label)))
        sandbox.close()
    assert message.startswith("box gone-")
    assert "the Docker engine went away" in message
    assert public == "the sandbox engine does not answer"
    left = engine()
    for container in left.containers.list(filters={"label": f"lmr-board-box={label}"}):
        container.remove(force=True)
    left.close()


def test_a_box_that_somebody_else_ends_is_our_fault(docker: DockerSandbox) -> None:
    client = engine()
    label = own("outside")

    def end_it() -> None:
        deadline = time.monotonic() + 10
        while not (found := client.containers.list(filters={"label": f"lmr-board-box={label}"})):
            assert time.monotonic() < deadline
        found[0].kill()

    thread = threading.Thread(target=end_it)
    thread.start()
    with pytest.raises(SandboxError, match="somebody killed the box from outside"):
        docker.run(order("import time; time.sleep(60)", label=label))
    thread.join()
    client.close()
    assert leftovers(label) == []


def test_a_program_that_kills_itself_is_not_taken_for_that(docker: DockerSandbox) -> None:
    result = run(docker, "import os; os.kill(os.getpid(), 9)")
    assert (result.ending, result.exit_code, result.signal) == (Ending.SIGNALLED, None, 9)
    result = run(docker, "import os; os._exit(137)")
    assert (result.ending, result.exit_code, result.signal) == (Ending.SIGNALLED, None, 9)
    result = run(docker, "import os; os._exit(139)")
    assert (result.ending, result.exit_code, result.signal) == (Ending.EXITED, 139, None)


def unavailable(action: Callable[[], object]) -> tuple[str, str]:
    """What ``action`` raises, as texts; the SDK does not close a socket that it could not connect."""
    found = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            action()
        except SandboxUnavailableError as error:
            found = str(error), error.public
        gc.collect()
    assert found is not None
    return found


@contextmanager
def relayed(path: Path) -> Iterator[Callable[[], None]]:
    """A socket at ``path`` that leads to the engine, until what is yielded is called."""
    stopped = threading.Event()
    ends: list[socket.socket] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def carry(source: socket.socket, target: socket.socket) -> None:
            with suppress(OSError):
                while data := source.recv(65536):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)

        def accept() -> None:
            with suppress(OSError):
                while not stopped.is_set():
                    near, _ = listener.accept()
                    far = socket.socket(socket.AF_UNIX)
                    far.connect("/var/run/docker.sock")
                    ends.extend((near, far))
                    for pair in ((near, far), (far, near)):
                        threading.Thread(target=carry, args=pair, daemon=True).start()

        def stop() -> None:
            stopped.set()
            path.unlink(missing_ok=True)
            listener.shutdown(socket.SHUT_RDWR)
            for end in ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield stop
        finally:
            with suppress(OSError):
                stop()
            thread.join()
            for end in ends:
                end.close()


@pytest.mark.parametrize("failures", [0, 2, 3])
def test_a_removal_that_fails_is_retried_twice(failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that still writes down an event of the container finds its folder not empty."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    failed: Any = importlib.import_module("docker.errors").APIError
    container = Mock()
    container.remove.side_effect = [failed("directory not empty")] * failures + [None]
    if failures == 3:
        with pytest.raises(failed, match="directory not empty"):
            docker_engine._remove(container)
    else:
        docker_engine._remove(container)
    assert container.remove.call_args_list == [call(force=True, v=True)] * min(failures + 1, 3)
