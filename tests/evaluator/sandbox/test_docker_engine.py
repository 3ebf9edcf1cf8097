"""What is Docker's own: its settings as the engine holds them, and its errors."""

from __future__ import annotations

import gc
import importlib
import io
import os
import tarfile
import warnings
from pathlib import Path
from typing import Any

import pytest

from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.types import Ending, Limits, RunCancelledError, SandboxError, SandboxUnavailableError
from tests.evaluator.sandbox.boxes import order, own, run

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
    assert found[0]["Config"]["User"] == "65534:65534"
    assert found[0]["Image"].startswith("sha256:")


def test_inodes_are_counted(docker: DockerSandbox) -> None:
    code = """
        import errno
        try:
            for index in range(10000): open(f"/tmp/{index}", "w").close()
        except OSError as error:
            print(errno.errorcode[error.errno], index > 4000)
    """
    assert run(docker, code).stdout == b"ENOSPC True\n"


def test_a_forked_process_has_connections_of_its_own(docker: DockerSandbox) -> None:
    client = docker._engine()
    child = os.fork()
    if child == 0:
        another = docker._engine()
        os._exit(0 if another is not client and another.ping() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert docker._engine() is client
    assert run(docker, "print('ours')").stdout == b"ours\n"


def test_a_missing_image_is_named_with_the_command_that_makes_it(docker: DockerSandbox, state_dir: Path) -> None:
    sandbox = DockerSandbox("lmr-board-no-such-image", state_dir)
    with pytest.raises(
        SandboxUnavailableError,
        match=r"lmr-board-no-such-image: the image is missing .*evaluator\.sandbox\.build_image",
    ):
        sandbox.check()
    sandbox.close()


def test_an_engine_that_is_gone(state_dir: Path, tmp_path: Path) -> None:
    sandbox = DockerSandbox("any", state_dir, base_url=f"unix://{tmp_path}/no.sock")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the SDK leaks the socket that it could not connect
        with pytest.raises(SandboxUnavailableError, match=r"no Docker engine answers .* DOCKER_HOST"):
            sandbox.check()
        gc.collect()


def test_an_image_without_python_is_our_fault(docker: DockerSandbox, state_dir: Path) -> None:
    client = engine()
    client.api.import_image_from_data(_empty_archive(), repository="lmr-board-test-empty")
    sandbox = DockerSandbox("lmr-board-test-empty", state_dir)
    try:
        with pytest.raises(SandboxUnavailableError, match="Docker cannot make a box here"):
            sandbox.check()
    finally:
        sandbox.close()
        client.images.remove("lmr-board-test-empty", force=True)
        client.close()


def test_each_image_serves_one_environment(docker: DockerSandbox) -> None:
    with pytest.raises(SandboxError, match="is for 'numpy'"):
        docker.environment_digest("torch")


def test_the_digest_is_another_for_another_image(docker: DockerSandbox, state_dir: Path) -> None:
    other = DockerSandbox("lmr-board-test-base", state_dir)
    try:
        first = other.environment_digest("numpy")
    except SandboxUnavailableError:
        pytest.skip("the image lmr-board-test-base is not here: scripts/make_test_base_image.sh makes it")
    finally:
        other.close()
    assert first != docker.environment_digest("numpy")


def test_programs_in_tmp_do_not_start(docker: DockerSandbox) -> None:
    code = """
        import os, shutil
        shutil.copy("/bin/true", "/tmp/program")
        try:
            os.execv("/tmp/program", ["program"])
        except PermissionError:
            print("refused")
    """
    assert run(docker, code).stdout == b"refused\n"


def test_a_flood_that_nobody_reads_does_not_block_the_end(docker: DockerSandbox) -> None:
    code = "import os\nwhile True: os.write(1, b'x' * 65536)"
    result = run(docker, code, limits=Limits(wall_seconds=20, output_bytes=1000))
    assert (result.ending, len(result.stdout)) == (Ending.OUTPUT_LIMIT, 1000)
    assert result.wall_seconds < 5


def _empty_archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    return buffer.getvalue()
