"""The local provider server, and a site that may call it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.provider_server.server import ProviderServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def provider(settings: Any) -> Iterator[ProviderServer]:
    """Run the local server, which the site may call; retries do not wait, and there is no queue."""
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_networks=["127.0.0.0/8"], infra_retry_seconds=0)
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues
    with ProviderServer() as server:
        yield server
