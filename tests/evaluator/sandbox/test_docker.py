"""Specifics of Docker: its settings as the engine holds them, its errors, and images with settings of their own."""

from __future__ import annotations

import gc
import importlib
import io
import os
import re
import socket
import socketserver
import tarfile
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
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentEntry, EnvironmentList
from evaluator.sandbox.host_users import DEFAULT_HOST_ID, HOST_USERS
from evaluator.sandbox.interface import BoxSpec, Ending, RunCancelledError, SandboxError, SandboxUnavailableError
from tests.evaluator.sandbox.boxes import leftovers, order, own, run

pytestmark = pytest.mark.xdist_group("images")


@pytest.fixture
def client(docker: DockerSandbox) -> Iterator[Any]:
    """The SDK's client; the SDK has no types."""
    made = importlib.import_module("docker").from_env()
    yield made
    made.close()


def settings_held(sandbox: DockerSandbox, client: Any) -> dict[str, Any]:
    """What the engine reports about a running container of the sandbox."""
    found: list[dict] = []

    def look() -> bool:
        running = client.containers.list(filters={"label": f"lmr-board-box={own('settings')}"})
        found.extend(container.attrs for container in running)
        return bool(found)

    with pytest.raises(RunCancelledError):
        sandbox.run(order("import time; time.sleep(20)", label=own("settings")), cancelled=look)
    return found[0]


def limits_held(host: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Soft and hard limits of a container's processes."""
    return {entry["Name"]: (entry["Soft"], entry["Hard"]) for entry in host["Ulimits"]}


def test_the_engine_holds_every_setting(docker: DockerSandbox, client: Any) -> None:
    found = settings_held(docker, client)
    host = found["HostConfig"]
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
    assert limits_held(host) == {"core": (0, 0), "nofile": (256, 256), "fsize": (32 << 20, 32 << 20), "cpu": (5, 6)}
    user, _, group = found["Config"]["User"].partition(":")
    assert user == group
    assert int(user) in range(DEFAULT_HOST_ID, DEFAULT_HOST_ID + HOST_USERS)
    assert found["Image"].startswith("sha256:")
    assert found["Config"]["Healthcheck"] == {"Test": ["NONE"]}


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


def test_an_engine_that_goes_away_while_a_box_runs(client: Any, state_dir: Path, tmp_path: Path) -> None:
    """A relay replaces the engine's socket, since the machine's engine must not be stopped."""
    label = own("gone")
    with relayed(tmp_path / "relay.sock") as stop:
        sandbox = DockerSandbox(state_dir, base_url=f"unix://{tmp_path}/relay.sock")
        threading.Timer(1.5, stop).start()
        message, public = unavailable(lambda: sandbox.run(order("import time; time.sleep(60)", label=label)))
        sandbox.close()
    assert message.startswith("box gone-")
    assert "the Docker engine went away" in message
    assert public == "the sandbox engine does not answer"
    for container in client.containers.list(filters={"label": f"lmr-board-box={label}"}):
        container.remove(force=True)


def test_a_box_that_is_ended_from_outside_is_an_infrastructure_error(docker: DockerSandbox, client: Any) -> None:
    label = own("outside")

    def end_it() -> None:
        deadline = time.monotonic() + 10
        while not (found := client.containers.list(filters={"label": f"lmr-board-box={label}"})):
            assert time.monotonic() < deadline
        found[0].kill()

    thread = threading.Thread(target=end_it)
    thread.start()
    with pytest.raises(SandboxError, match="the box was killed from outside"):
        docker.run(order("import time; time.sleep(60)", label=label))
    thread.join()
    assert leftovers(label) == []


def test_a_program_that_kills_itself_is_not_an_infrastructure_error(docker: DockerSandbox) -> None:
    result = run(docker, "import os; os.kill(os.getpid(), 9)")
    assert (result.ending, result.exit_code, result.signal) == (Ending.SIGNALLED, None, 9)
    result = run(docker, "import os; os._exit(137)")
    assert (result.ending, result.exit_code, result.signal) == (Ending.SIGNALLED, None, 9)
    result = run(docker, "import os; os._exit(139)")
    assert (result.ending, result.exit_code, result.signal) == (Ending.EXITED, 139, None)


def unavailable(action: Callable[[], object]) -> tuple[str, str]:
    """The texts of the error that ``action`` raises. The SDK does not close a socket that it could not connect."""
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
    """A socket at ``path`` that leads to the engine until the yielded function is called."""
    ends: list[socket.socket] = []

    def carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.socket(socket.AF_UNIX) as far:
                far.connect("/var/run/docker.sock")
                ends.extend((self.request, far))
                back = threading.Thread(target=carry, args=(far, self.request))
                back.start()
                carry(self.request, far)
                back.join()

    def stop() -> None:
        path.unlink(missing_ok=True)
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    with socketserver.ThreadingUnixStreamServer(str(path), Relay) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield stop
        finally:
            stop()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("failures", [0, 2, 3])
def test_a_removal_that_fails_is_retried_twice(failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is still recording an event of the container finds its folder not empty."""
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


OWN = "lmr-board-test-own"
PAPERS_OWN = """
FROM lmr-board-box-numpy
USER root
RUN mkdir -p /opt/own/bin /data && cp -L /usr/bin/python3 /opt/own/bin/ && echo seen > /data/file && chmod -R 777 /data
ENV PATH=/opt/own/bin:$PATH OWN=set HOME=/root
VOLUME /data
HEALTHCHECK --interval=1s CMD touch /tmp/healthy
ENTRYPOINT ["/bin/false"]
WORKDIR /data
"""


@pytest.fixture
def papers_own(client: Any, state_dir: Path) -> Iterator[DockerSandbox]:
    """A sandbox whose environment ``own`` is an image with settings of its own."""
    build_own(client)
    sandbox = DockerSandbox(state_dir, environments=EnvironmentList((EnvironmentEntry("own", image=OWN),)))
    yield sandbox
    sandbox.close()
    client.images.remove(OWN, force=True)


def build_own(client: Any) -> None:
    client.images.build(fileobj=io.BytesIO(PAPERS_OWN.encode()), tag=OWN, network_mode="none", rm=True)


def in_own(sandbox: DockerSandbox, code: str) -> bytes:
    result = sandbox.run(BoxSpec(label="own", argv=("python", "-c", code), mounts=(), environment="own"))
    assert result.exit_code == 0, result
    return result.stdout


def test_the_images_own_python_is_started(papers_own: DockerSandbox) -> None:
    code = """if True:
        import os, sys, numpy
        print(sys.executable, os.environ["OWN"], os.environ["HOME"], os.getcwd(), os.getuid() > 0)
    """
    assert in_own(papers_own, code) == b"/opt/own/bin/python3 set /tmp /tmp True\n"


def test_volumes_of_an_image_are_empty_and_cannot_be_written(papers_own: DockerSandbox, client: Any) -> None:
    """Nothing would limit these folders on the host's disk."""
    before = len(client.volumes.list())
    code = "import os\ntry: open('/data/x', 'w')\nexcept OSError as error: print(error.strerror, os.listdir('/data'))"
    assert in_own(papers_own, code) == b"Read-only file system []\n"
    assert len(client.volumes.list()) == before


def test_a_missing_image_is_named_with_the_command_that_makes_it(docker: DockerSandbox, state_dir: Path) -> None:
    environments = EnvironmentList((EnvironmentEntry("own", image="lmr-board-no-such-image"),))
    sandbox = DockerSandbox(state_dir, environments=environments)
    expected = r"lmr-board-no-such-image of the environment 'own' is missing: make it with manage\.py build_images"
    with pytest.raises(SandboxUnavailableError, match=expected) as caught:
        in_own(sandbox, "pass")
    with pytest.raises(SandboxUnavailableError, match=expected):
        sandbox.environment_digest("own")
    assert caught.value.public == "the environment's image is missing"
    sandbox.close()


def test_an_image_that_was_removed_meanwhile_is_looked_up_again(papers_own: DockerSandbox, client: Any) -> None:
    in_own(papers_own, "pass")
    client.images.remove(OWN, force=True)
    with pytest.raises(SandboxError, match="box own: the Docker engine reports: "):
        in_own(papers_own, "pass")
    build_own(client)
    assert in_own(papers_own, "print('again')") == b"again\n"


def test_an_image_without_python_is_refused(docker: DockerSandbox, client: Any, state_dir: Path) -> None:
    empty = io.BytesIO()
    with tarfile.open(fileobj=empty, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    client.api.import_image_from_data(empty.getvalue(), repository="lmr-board-test-empty")
    sandbox = DockerSandbox(state_dir, environments=SHIPPED.with_numpy_image("lmr-board-test-empty"))
    try:
        with pytest.raises(SandboxUnavailableError, match=r"docker cannot make a box here: .*python3"):
            sandbox.check()
    finally:
        sandbox.close()
        client.images.remove("lmr-board-test-empty", force=True)


def test_an_unknown_runtime_is_refused_with_those_that_are_known(docker: DockerSandbox, state_dir: Path) -> None:
    sandbox = DockerSandbox(state_dir, runtime="lmr-board-no-such-runtime")
    with pytest.raises(
        SandboxUnavailableError,
        match=r"does not know the runtime 'lmr-board-no-such-runtime' that SANDBOX_RUNTIME names; it has .*runc",
    ):
        sandbox.check()
    sandbox.close()


def test_a_named_runtime_is_used_and_part_of_the_digest(docker: DockerSandbox, client: Any, state_dir: Path) -> None:
    sandbox = DockerSandbox(state_dir, runtime="runc")
    host = settings_held(sandbox, client)["HostConfig"]
    # A runtime with its own kernel counts the box's processes; the host counts that kernel's threads.
    assert (host["Runtime"], host["PidsLimit"], limits_held(host)["nproc"]) == ("runc", 65 * 64, (65, 65))
    sandbox.check()
    assert run(sandbox, "print('by runc')").stdout == b"by runc\n"
    assert sandbox.environment_digest("numpy") != docker.environment_digest("numpy")
    sandbox.close()
