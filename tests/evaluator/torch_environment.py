"""The shipped environment ``torch`` for both sandboxes. Without PyTorch, tests are skipped with instructions."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentList
from evaluator.sandbox.interface import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.sandbox.interface import Sandbox

TORCH = "torch"


@pytest.fixture(scope="session")
def torch_environments() -> EnvironmentList:
    """``torch`` with the limits that an operator's file would set for upstream's tests."""
    return EnvironmentList((replace(SHIPPED.entry(TORCH), memory_mb=4096, wall_seconds=120),))


@pytest.fixture(scope="session")
def torch_sandbox(torch_environments: EnvironmentList, state_dir: Path) -> BubblewrapSandbox:
    """Bubblewrap with ``torch`` prepared, which takes a minute the first time on a machine."""
    sandbox = BubblewrapSandbox(state_dir, environments=torch_environments)
    _skip_unless_usable(sandbox)
    try:
        sandbox.environment_digest(TORCH)
    except SandboxError as error:
        pytest.skip(str(error))
    return sandbox


@pytest.fixture(scope="session")
def torch_packages(torch_sandbox: BubblewrapSandbox) -> Path:
    """The folder of packages that boxes of bubblewrap have."""
    return next(torch_sandbox._environment(TORCH).root.rglob("torch/__init__.py")).parents[1]


@pytest.fixture(scope="session")
def torch_docker(torch_environments: EnvironmentList, state_dir: Path) -> Iterator[DockerSandbox]:
    """Docker with the image of ``torch-cpu``."""
    sandbox = DockerSandbox(state_dir, environments=torch_environments)
    _skip_unless_usable(sandbox)
    image = torch_environments.image(TORCH)
    if subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"no image {image}: scripts/test.sh makes it")
    yield sandbox
    sandbox.close()


def _skip_unless_usable(sandbox: Sandbox) -> None:
    try:
        sandbox.check()
    except SandboxError as error:
        pytest.skip(str(error))
