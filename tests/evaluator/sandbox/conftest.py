"""What tests of the sandboxes call the sandboxes; those of forks make theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluator.sandbox.box import LocalSandbox
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.types import Sandbox
from tests.evaluator.forked import ForkedBubblewrap, ForkedDocker
from tests.evaluator.sandbox.forks import stop


@pytest.fixture
def sandbox(each_way: Sandbox) -> Sandbox:
    """Each of the two, with boxes that are started and with boxes that are forked."""
    return each_way


BOTH = [
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("docker", marks=pytest.mark.docker),
]


@pytest.fixture(params=BOTH)
def kind(request: pytest.FixtureRequest) -> str:
    """Which of the two, where it works."""
    request.getfixturevalue(request.param)
    name: str = request.param
    return name


@pytest.fixture
def make(kind: str, state_dir: Path) -> Iterator[Callable[..., LocalSandbox]]:
    """Makes sandboxes that fork where a server is ready; none is at the beginning, nor afterwards."""

    def make(idle_seconds: float = 60.0) -> LocalSandbox:
        if kind == "docker":
            return DockerSandbox(state_dir, fork_idle_seconds=idle_seconds)
        return BubblewrapSandbox(state_dir, fork_idle_seconds=idle_seconds)

    stop(make())
    yield make
    stop(make())


@pytest.fixture
def forked(kind: str, request: pytest.FixtureRequest) -> ForkedBubblewrap | ForkedDocker:
    """Forks every box."""
    found: ForkedBubblewrap | ForkedDocker = request.getfixturevalue(f"forked_{kind}")
    return found
