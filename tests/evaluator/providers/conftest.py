"""The local provider, and clients that may call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evaluator.providers.clients import connect
from evaluator.providers.guard import Policy
from evaluator.providers.interface import EndpointSettings, Message, ModelRequest
from tests.provider_server.fixtures import provider_server  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluator.providers.interface import ModelClient
    from tests.provider_server import ProviderServer

    Connect = Callable[..., ModelClient]

KEY = "sk-test-0123456789abcdef"
LOOPBACK = Policy.of(["127.0.0.0/8"])
QUESTION = ModelRequest("Be brief.", (Message("user", "Implement `decode` in `tagger/decoding.py`."),))


@pytest.fixture(params=["chat", "responses", "messages"])
def api(request: pytest.FixtureRequest) -> str:
    """Each of the three interfaces."""
    return str(request.param)


@pytest.fixture
def client_of(provider_server: ProviderServer) -> Iterator[Connect]:  # noqa: F811 - the fixture
    """Clients of the local provider, by interface and model id; closed at the end."""
    made: list[ModelClient] = []

    def make(api: str, model: str, *, key: str = KEY, policy: Policy = LOOPBACK, **settings: object) -> ModelClient:
        values = {"base_url": provider_server.url, "request_seconds": 10.0, **settings}
        provider = "anthropic" if api == "messages" else "openai"
        endpoint = EndpointSettings.from_data({"provider": provider, "api": api, "model": model, **values})
        made.append(connect(endpoint, key=key, policy=policy))
        return made[-1]

    yield make
    for client in made:
        client.close()
