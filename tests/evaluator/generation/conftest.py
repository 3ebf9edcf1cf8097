"""Fixtures: the local provider server, runs on it, and no pauses between retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.generation import generating
from evaluator.generation.orders import RunOrder
from evaluator.providers import calling
from submissions.models import Endpoint
from tests.evaluator.judging.conftest import provider
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import Generation
    from tests.provider_server.server import ProviderServer

__all__ = ["provider"]

StartRun = Callable[..., "Generation"]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without pauses; waits that a provider requests are still observed."""
    monkeypatch.setattr(calling, "FIRST_PAUSE_SECONDS", 0.0)


@pytest.fixture
def start_run(provider: ProviderServer) -> StartRun:
    """Return ``start_run(version, model, **order)``, which starts a run on the local server.

    ``endpoint`` holds fields of the run's endpoint.
    """

    def start(version: SuiteVersion, model: str, *, endpoint: dict[str, Any] | None = None, **order: Any) -> Generation:
        fields = {"provider": "openai", "api": "chat", "base_url": provider.url, **(endpoint or {})}
        made = Endpoint.objects.create(owner=UserFactory(), name="Local", model=model, **fields)
        run = RunOrder(version=version, **order)
        return generating.start(owner=made.owner, endpoint=made, order=run).generation

    return start
