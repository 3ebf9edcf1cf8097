"""What an operator and what everybody reads when the host itself fails a box."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.types import Mount, Sandbox, SandboxError, SandboxUnavailableError, host_error
from tests.evaluator.sandbox.boxes import order, run

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small file system")


@pytest.fixture
def small_state(state_dir: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A state folder whose boxes' part has one megabyte, with the environments of the real one."""
    folder = state_dir / f"small-{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "environments").symlink_to(state_dir / "environments")
    parts = [folder / "boxes", folder / "docker-boxes"]
    for part in parts:
        part.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(part)], check=True)
    yield folder
    for part in parts:
        subprocess.run(["umount", str(part)], check=True)
    shutil.rmtree(folder)


@AS_ROOT
def test_a_full_disk_is_told_and_leaves_nothing(sandbox: Sandbox, small_state: Path, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (2 << 20))
    kind = BubblewrapSandbox if sandbox.name == "bubblewrap" else DockerSandbox
    small: BubblewrapSandbox | DockerSandbox = kind(small_state)
    spec = replace(order("print('never')"), mounts=(Mount(tmp_path, "/box/task"),))
    with pytest.raises(SandboxError, match=r"box test: the host's disk is full.*make room") as caught:
        small.run(spec)
    assert caught.value.public == "the host's disk is full"
    assert not isinstance(caught.value, SandboxUnavailableError)
    left = [entry for part in ("boxes", "docker-boxes") for entry in (small_state / part).iterdir()]
    assert left == []
    assert run(small, "print('small enough')").stdout == b"small enough\n"
    if isinstance(small, DockerSandbox):
        small.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_known_by_its_number_and_by_what_copying_says(number: int) -> None:
    error = OSError(number, os.strerror(number), "/somewhere/secret")
    for found in (error, shutil.Error([("a", "b", str(error))])):
        fault = host_error("box x", found)
        assert str(fault).startswith(
            "box x: the host's disk is full, or its quota is used up: make room below DATA_DIR"
        )
        assert fault.public == "the host's disk is full"


def test_another_failure_keeps_its_words_and_shows_no_path() -> None:
    fault = host_error("box x", PermissionError(errno.EACCES, "Permission denied", "/somewhere/secret"))
    assert str(fault) == "box x: the host failed it: [Errno 13] Permission denied: '/somewhere/secret'"
    assert fault.public == "the host failed"
