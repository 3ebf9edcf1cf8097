"""Real sandboxes for the tests; where this machine has none, what needs it is skipped with the reason."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.factory import DEFAULT_IMAGE
from evaluator.sandbox.types import Sandbox, SandboxUnavailableError


@pytest.fixture(scope="session")
def state_dir() -> Iterator[Path]:
    """A state folder that every host user may pass through, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="lmr-board-test-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def bubblewrap(state_dir: Path) -> BubblewrapSandbox:
    """A bubblewrap sandbox that passed its check."""
    sandbox = BubblewrapSandbox(state_dir)
    _skip_unless_usable(sandbox)
    return sandbox


@pytest.fixture(scope="session")
def docker(state_dir: Path) -> Iterator[DockerSandbox]:
    """A Docker sandbox that passed its check."""
    sandbox = DockerSandbox(DEFAULT_IMAGE, state_dir)
    _skip_unless_usable(sandbox)
    yield sandbox
    sandbox.close()


@pytest.fixture(
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("docker", marks=pytest.mark.docker),
    ]
)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each of the two, one after the other."""
    found: Sandbox = request.getfixturevalue(request.param)
    return found


def _skip_unless_usable(sandbox: Sandbox) -> None:
    try:
        sandbox.check()
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
