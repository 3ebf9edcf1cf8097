"""Claim work that asks an endpoint, within the number of requests that the endpoint takes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from evaluator.enums import CallState, WorkState
from evaluator.models import AnswerRequest, Judgement, ModelCall
from evaluator.providers.calling import is_under_way
from evaluator.queue import leases
from submissions.models import Endpoint

if TYPE_CHECKING:
    import uuid

    from evaluator.models.leasing import Leased


def claim_within_limit(model: type[Leased], pk: int, *, endpoint_id: int | None) -> uuid.UUID | None:
    """Take one row that waits; ``None`` when it is taken, or its endpoint is full or asked everybody to wait."""
    with transaction.atomic():
        # The row lock puts workers one after the other, so that two do not both take the last place.
        endpoint = Endpoint.objects.select_for_update().filter(pk=endpoint_id or 0).first()
        if endpoint is not None and not has_room(endpoint):
            return None
        return leases.claim(model, pk)


def has_room(endpoint: Endpoint) -> bool:
    """Whether one more request may be sent to ``endpoint`` now."""
    if endpoint.not_before and endpoint.not_before > timezone.now():
        return False
    return requests_under_way(endpoint) < endpoint.requests_at_once


def requests_under_way(endpoint: Endpoint) -> int:
    """Generations and judgements that workers hold, and calls that are still on their way for others.

    Work that was paused, cancelled or taken from a worker leaves its last call behind, which may still be answered.
    """
    requests = AnswerRequest.objects.filter(generation__endpoint=endpoint, state=WorkState.RUNNING)
    judgements = Judgement.objects.filter(config__endpoint=endpoint, state=WorkState.RUNNING)
    tokens = [*requests.values_list("token", flat=True), *judgements.values_list("token", flat=True)]
    sending = ModelCall.objects.filter(endpoint=endpoint, state=CallState.SENDING)
    others = sending.exclude(token__in=tokens).only("sender", "started")
    return len(tokens) + sum(is_under_way(call, endpoint.request_seconds) for call in others)
