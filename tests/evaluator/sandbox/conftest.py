"""What tests of the sandboxes call the sandboxes; those of forks make theirs."""

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
    """Both sandboxes, and bubblewrap with boxes that are forked as well."""
    return each_way


@pytest.fixture
def make(bubblewrap: BubblewrapSandbox, state_dir: Path) -> Iterator[Callable[..., BubblewrapSandbox]]:
    """Makes sandboxes that fork where a server is ready; none is at the beginning, nor afterwards."""

    def make(idle_seconds: float = 60.0) -> BubblewrapSandbox:
        return BubblewrapSandbox(state_dir, fork_idle_seconds=idle_seconds)

    stop(make())
    yield make
    stop(make())


@pytest.fixture
def forked(forked_bubblewrap: ForkedBubblewrap) -> ForkedBubblewrap:
    """Forks every box."""
    return forked_bubblewrap
