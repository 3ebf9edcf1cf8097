"""The environment ``torch-cpu`` for both sandboxes. Where PyTorch is not at hand, the skip says how to get it.

``scripts/lock_torch.sh`` writes the requirements, ``scripts/test.sh`` calls it and makes the Docker image.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environment_list import EnvironmentEntry, EnvironmentList
from evaluator.sandbox.types import SandboxError
from tests.conftest import PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.sandbox.types import Sandbox

TORCH = "torch-cpu"
USUAL_FILE = PROJECT_ROOT / "var" / "torch-cpu.txt"


@pytest.fixture(scope="session")
def torch_requirements() -> Path:
    """A hash-locked list of PyTorch and NumPy: ``TORCH_REQUIREMENTS``, else below ``var``."""
    file = Path(os.environ.get("TORCH_REQUIREMENTS") or USUAL_FILE)
    if not file.is_file():
        pytest.skip(f"no list {file}: scripts/lock_torch.sh {USUAL_FILE} makes it")
    return file.resolve()


@pytest.fixture(scope="session")
def torch_environments(torch_requirements: Path) -> EnvironmentList:
    """What an operator's file would say of ``torch-cpu``."""
    entry = EnvironmentEntry(TORCH, requirements=torch_requirements, memory_mb=4096, wall_seconds=120)
    return EnvironmentList((entry,))


@pytest.fixture(scope="session")
def torch_sandbox(torch_environments: EnvironmentList, state_dir: Path) -> BubblewrapSandbox:
    """Bubblewrap with ``torch-cpu`` made ready, which takes a minute the first time on a machine."""
    sandbox = BubblewrapSandbox(state_dir, environments=torch_environments)
    _skip_unless_usable(sandbox)
    sandbox.environment_digest(TORCH)
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


@pytest.fixture
def torch_is_configured(settings: Any, torch_requirements: Path, tmp_path: Path) -> None:
    """The site with an ``ENVIRONMENTS_FILE`` that has ``torch-cpu`` for all tasks that name no environment."""
    file = tmp_path / "environments.toml"
    file.write_text(
        f'[environments.{TORCH}]\nrequirements = "{torch_requirements}"\nmemory_mb = 4096\nwall_seconds = 120\n'
        f'[tasks]\n"*" = "{TORCH}"\n',
        encoding="utf-8",
    )
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, environments_file=file)


def _skip_unless_usable(sandbox: Sandbox) -> None:
    try:
        sandbox.check()
    except SandboxError as error:
        pytest.skip(str(error))
