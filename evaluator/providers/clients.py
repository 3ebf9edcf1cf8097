"""Make the client for an endpoint's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluator.providers.anthropic_client import MessagesClient
from evaluator.providers.openai_client import ChatClient, ResponsesClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.providers.guard import Policy
    from evaluator.providers.interface import EndpointSettings, ModelClient
    from evaluator.providers.sdk_client import SdkClient

CLIENTS: dict[str, Callable[..., SdkClient]] = {
    "chat": ChatClient,
    "responses": ResponsesClient,
    "messages": MessagesClient,
}


def connect(settings: EndpointSettings, *, key: str, policy: Policy) -> ModelClient:
    """Return a client for ``settings``. Lookups and imports happen when something is sent, and raise their errors then.

    Raises ``ValueError`` for an interface that does not exist.
    """
    if settings.api not in CLIENTS:
        msg = f"There is no interface {settings.api!r}. Known: {', '.join(sorted(CLIENTS))}."
        raise ValueError(msg)
    client = CLIENTS[settings.api]
    return client(settings, key=key, policy=policy)
