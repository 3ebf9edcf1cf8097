"""Trying an endpoint with one tiny call, on a worker: web processes never load the providers' SDKs."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from evaluator.providers.guard import ForbiddenAddressError
from evaluator.providers.types import Message, ModelRequest, ProviderFault
from evaluator.queue.queueing import push_check
from submissions.enums import EndpointCheck
from submissions.exceptions import QuotaExceededError
from submissions.models import Endpoint

if TYPE_CHECKING:
    from evaluator.providers.types import ModelReply

CHECKS_AN_HOUR: Final = 20
_HOUR_SECONDS: Final = 3600
_SHOWN_CHARACTERS: Final = 80
LONGEST_SECONDS: Final = 30.0
"""A test holds a worker that others wait for; a model that takes longer for one word may still do its work."""
_TINY: Final = ModelRequest(system="Answer with one word.", messages=(Message("user", "Say: ready"),))


def request_check(*, endpoint: Endpoint) -> None:
    """Have ``endpoint`` tried by a worker. Raises ``QuotaExceededError``: a check is a request to somebody's server."""
    key = f"endpoint-checks:{endpoint.owner_id}:{int(time.time()) // _HOUR_SECONDS}"
    used = int(cache.get(key, 0))
    if used >= CHECKS_AN_HOUR:
        msg = (
            f"You have tested endpoints {CHECKS_AN_HOUR} times within this hour, which is as often as one account may."
        )
        raise QuotaExceededError(msg)
    cache.set(key, used + 1, _HOUR_SECONDS)
    with transaction.atomic():
        Endpoint.objects.filter(pk=endpoint.pk).update(check_state=EndpointCheck.WAITING, check_message="")
        transaction.on_commit(partial(_push, endpoint.pk))
    endpoint.refresh_from_db()


def check(endpoint_id: int) -> None:
    """Make the call and keep what came of it. Whatever happens, the endpoint does not stay ``waiting``."""
    endpoint = Endpoint.objects.filter(pk=endpoint_id).first()
    if endpoint is None:
        return
    state, message = EndpointCheck.FAILED, "An infrastructure error of this site stopped the test; try it again."
    try:
        state, message = _try(endpoint)
    finally:
        # What was changed meanwhile is another endpoint, and not tested.
        Endpoint.objects.filter(pk=endpoint_id, check_state=EndpointCheck.WAITING).update(
            check_state=state, check_message=message, checked=timezone.now()
        )


def _try(endpoint: Endpoint) -> tuple[EndpointCheck, str]:
    # Workers make calls; the page that asks for one needs no client.
    from evaluator.providers.stored_clients import endpoint_client

    started = time.monotonic()
    try:
        client = endpoint_client(endpoint, most_seconds=LONGEST_SECONDS)
        try:
            reply = client.send(client.body(_TINY))
        finally:
            client.close()
    except (ProviderFault, ForbiddenAddressError) as error:
        return EndpointCheck.FAILED, str(error)
    return EndpointCheck.OK, _summary(reply, time.monotonic() - started)


def _summary(reply: ModelReply, seconds: float) -> str:
    said = " ".join(reply.text.split())[:_SHOWN_CHARACTERS]
    words = f"It said “{said}”" if said else "It answered without text"
    tokens = f"{reply.usage.input_tokens} tokens in, {reply.usage.output_tokens} out"
    return f"{words}, as {reply.model or 'a model without a name'}, in {seconds:.1f} s ({tokens})."


def _push(endpoint_id: int) -> None:
    if not push_check(endpoint_id):
        Endpoint.objects.filter(pk=endpoint_id, check_state=EndpointCheck.WAITING).update(
            check_state=EndpointCheck.FAILED,
            check_message="The queue does not answer, so nobody could try it. Try again in a moment.",
        )
