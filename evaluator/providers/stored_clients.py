"""Make clients for stored endpoints, runs and judges, with the key that belongs to each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from django.conf import settings

from evaluator.providers.clients import connect
from evaluator.providers.guard import Policy
from evaluator.providers.interface import EndpointSettings
from submissions.domain.endpoints import KeyLostError, key_of
from submissions.endpoints.addresses import same_origin

if TYPE_CHECKING:
    from evaluator.models import Generation, JudgeConfig
    from evaluator.providers.interface import ModelClient
    from submissions.models import Endpoint


class ClientUnavailableError(Exception):
    """The endpoint or its key is gone. The message is for the owner."""


def policy() -> Policy:
    """Return which addresses may be called: public ones, and the operator's own networks."""
    return Policy.of(settings.ENVIRONMENT.endpoint_networks)


def endpoint_client(endpoint: Endpoint, *, most_seconds: float = math.inf) -> ModelClient:
    """Return a client for the current ``endpoint``, with at most ``most_seconds`` per request.

    Raises ``KeyLostError``. A forbidden address raises when the client is used, not here.
    """
    now = EndpointSettings.of(endpoint)
    bounded = replace(now, request_seconds=min(now.request_seconds, most_seconds))
    return connect(bounded, key=key_of(endpoint), policy=policy())


def generation_client(generation: Generation) -> ModelClient:
    """Return a client for a run, with the settings that it began with. Raises :class:`ClientUnavailableError`."""
    stored = EndpointSettings.from_data(generation.settings)
    return connect(stored, key=_key(generation.endpoint, stored.base_url), policy=policy())


def judge_client(config: JudgeConfig) -> ModelClient:
    """Return a client for a judge. Raises :class:`ClientUnavailableError`."""
    return connect(EndpointSettings.of(config), key=_key(config.endpoint, config.base_url), policy=policy())


def _key(endpoint: Endpoint | None, base_url: str) -> str:
    if endpoint is None:
        msg = "The endpoint was deleted, and its key with it. Register it again and start over."
        raise ClientUnavailableError(msg)
    if not same_origin(endpoint.base_url, base_url):
        msg = "The endpoint's address has changed, and there is no key for the old address. Start over."
        raise ClientUnavailableError(msg)
    try:
        return key_of(endpoint)
    except KeyLostError as error:
        raise ClientUnavailableError(str(error)) from None
