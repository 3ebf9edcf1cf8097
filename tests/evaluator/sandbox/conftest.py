"""Fixtures: the sandboxes under test, and sandboxes that fork their boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.interface import Sandbox
from tests.evaluator.forked import ForkedBubblewrap
from tests.evaluator.sandbox.forks import stop


@pytest.fixture
def sandbox(each_way: Sandbox) -> Sandbox:
    """Both sandboxes, and bubblewrap with forked boxes as well."""
    return each_way


@pytest.fixture
def make(bubblewrap: BubblewrapSandbox, state_dir: Path) -> Iterator[Callable[..., BubblewrapSandbox]]:
    """Makes sandboxes that fork where a server is ready; no server runs before or after the test."""

    def make(idle_seconds: float = 60.0) -> BubblewrapSandbox:
        return BubblewrapSandbox(state_dir, fork_idle_seconds=idle_seconds)

    stop(make())
    yield make
    stop(make())


@pytest.fixture
def forked(forked_bubblewrap: ForkedBubblewrap) -> ForkedBubblewrap:
    """Forks every box."""
    return forked_bubblewrap
