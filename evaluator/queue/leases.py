"""Lease work to one worker at a time: test runs, requests to models and judgements (every :class:`Leased` model).

The holder of the newest token decides the row; any other result is discarded (docs/design/sandbox.md). All changes
are conditional updates, so a job that is delivered twice runs once. An expired lease counts as an infrastructure
error: work that repeatedly kills its worker is held in the end.
"""

from __future__ import annotations

import threading
import uuid
from contextvars import copy_context
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import structlog
from django.conf import settings
from django.db import close_old_connections, connection, transaction
from django.db.models import Q
from django.utils import timezone

from benchmark_tasks.domain import metrics
from benchmark_tasks.domain.bucket import DamagedError
from benchmark_tasks.domain.clock import database_now
from evaluator.enums import CallState, WorkState
from evaluator.models import AnswerRequest, Judgement, ModelCall
from evaluator.models.leasing import Leased
from evaluator.queue.database import DATABASE_IS_AWAY
from evaluator.queue.processes import Owner
from submissions.models import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from django.db.models import QuerySet

    from benchmark_tasks.domain.bucket import StorageUnavailableError

log = structlog.get_logger(__name__)
_Work = TypeVar("_Work", bound=Leased)

LEASE_LOST = "its worker died or stopped renewing the lease"
INFRA_TRIES = 3
"""After this many infrastructure errors, work is held for its owner or an operator (docs/design/rules.md)."""

STORAGE_PAUSE: Final = timedelta(minutes=1)
"""How long work waits for a storage that did not answer."""
_SLACK_SECONDS: Final = 30.0
LONGEST_BEAT_SECONDS: Final = 2.0
"""A cancellation must reach a box within five seconds, regardless of the lease's length."""

_ERRORS: Final = metrics.counter(
    "infrastructure_errors", "Infrastructure errors of work, which then waits or is held.", "work", "then"
)
_EXPIRED: Final = metrics.counter("leases_expired", "Leases of work that were not renewed.", "work")


def due(queryset: QuerySet[_Work]) -> QuerySet[_Work]:
    """Return the rows of ``queryset`` that wait and may be started now."""
    now = Q(not_before__isnull=True) | Q(not_before__lte=database_now())
    return queryset.filter(now, state=WorkState.QUEUED)


def claim(model: type[Leased], pk: int) -> uuid.UUID | None:
    """Claim one waiting row; return the token, or ``None`` when another worker was faster."""
    token = uuid.uuid4()
    waiting = model.rows().filter(pk=pk, state=WorkState.QUEUED)
    taken = waiting.update(state=WorkState.RUNNING, token=token, lease_until=_lease_end(), not_before=None)
    return token if taken else None


def extend(model: type[Leased], pk: int, token: uuid.UUID) -> bool:
    """Renew the lease (heartbeat). Returns False when the claim is lost (expired and taken, or cancelled)."""
    return bool(_held(model, pk, token).update(lease_until=_lease_end()))


def release(
    model: type[Leased], pk: int, token: uuid.UUID, *, reason: str = "", not_before: datetime | None = None
) -> bool:
    """Return work to waiting without counting an error; return whether ``token`` still held it."""
    return bool(
        _held(model, pk, token).update(
            state=WorkState.QUEUED, token=None, lease_until=None, not_before=not_before, reason=reason
        )
    )


def record_error(
    model: type[Leased], pk: int, token: uuid.UUID, *, reason: str, hold: bool = False
) -> WorkState | None:
    """Count an infrastructure error: the work waits, longer each time, and is held after the third (or at once).

    Returns the work's new state, or ``None`` when ``token`` no longer held it.
    """
    held = _held(model, pk, token)
    row = held.only("infra_count").first()
    return _count_error(held, row, reason=reason, hold=hold) if row else None


def record_storage_error(model: type[Leased], pk: int, token: uuid.UUID, error: StorageUnavailableError) -> None:
    """Let work wait for the storage without counting an error, which a damaged file of its own is."""
    if isinstance(error, DamagedError):
        record_error(model, pk, token, reason=error.public)
    else:
        release(model, pk, token, reason=error.public, not_before=database_now() + STORAGE_PAUSE)


def finish(model: type[Leased], pk: int, token: uuid.UUID, **fields: Any) -> bool:
    """Mark the work as done and store ``fields`` if ``token`` still holds it; return whether it did."""
    return bool(
        _held(model, pk, token).update(
            state=WorkState.DONE,
            token=None,
            lease_until=None,
            not_before=None,
            **{"finished": timezone.now(), "reason": "", **fields},
        )
    )


def expire(model: type[Leased]) -> list[int]:
    """Take back every row whose lease has expired, as an infrastructure error; return their keys."""
    late = model.rows().filter(state=WorkState.RUNNING, lease_until__lt=database_now())
    expired = [
        row.pk
        for row in late.only("token", "infra_count")
        # Its worker may renew or finish it at this very moment.
        if _count_error(late.filter(pk=row.pk, token=row.token), row, reason=LEASE_LOST)
    ]
    if expired:
        metrics.count(_EXPIRED, model.__name__, by=len(expired))
    return expired


def claim_within_limit(model: type[Leased], pk: int, *, endpoint_id: int | None) -> uuid.UUID | None:
    """Claim one waiting row; ``None`` when it is taken, or its endpoint is at its limit or asked to wait."""
    with transaction.atomic():
        # The row lock serialises workers, so that two do not both take the last place.
        endpoint = Endpoint.objects.select_for_update().filter(pk=endpoint_id or 0).first()
        if endpoint is not None and not has_room(endpoint):
            return None
        return claim(model, pk)


def has_room(endpoint: Endpoint) -> bool:
    """Return whether one more request may be sent to ``endpoint`` now."""
    if endpoint.not_before and endpoint.not_before > timezone.now():
        return False
    return requests_under_way(endpoint) < endpoint.requests_at_once


def requests_under_way(endpoint: Endpoint) -> int:
    """Count the generations and judgements that workers hold, and calls still in flight for others.

    Work that was paused, cancelled or taken from a worker leaves its last call in flight, which may still be answered.
    """
    requests = AnswerRequest.objects.filter(generation__endpoint=endpoint, state=WorkState.RUNNING)
    judgements = Judgement.objects.filter(config__endpoint=endpoint, state=WorkState.RUNNING)
    tokens = [*requests.values_list("token", flat=True), *judgements.values_list("token", flat=True)]
    sending = ModelCall.objects.filter(endpoint=endpoint, state=CallState.SENDING)
    others = sending.exclude(token__in=tokens).only("sender", "started")
    return len(tokens) + sum(is_under_way(call, endpoint.request_seconds) for call in others)


def is_under_way(row: ModelCall, seconds: float) -> bool:
    """Return whether the sender may still get the answer. Its claim may be lost, but the answer is paid for."""
    try:
        if Owner.parse(row.sender).is_dead():
            return False
    except ValueError:
        return False
    return timezone.now() < row.started + timedelta(seconds=seconds + _SLACK_SECONDS)


def heartbeat(model: type[Leased], pk: int, token: uuid.UUID) -> Heartbeat:
    """Return a context manager that keeps the lease on one row alive."""
    return Heartbeat(partial(extend, model, pk, token), name=f"{model.__name__}-{pk}")


def _count_error(held: QuerySet[Leased], row: Leased, *, reason: str, hold: bool = False) -> WorkState | None:
    count = row.infra_count + 1
    state = WorkState.HELD if hold or count >= INFRA_TRIES else WorkState.QUEUED
    pause = timedelta(seconds=settings.ENVIRONMENT.infra_retry_seconds * count)
    changed = held.update(
        state=state,
        token=None,
        lease_until=None,
        infra_count=count,
        not_before=database_now() + pause if state == WorkState.QUEUED else None,
        reason=reason,
    )
    if changed:
        metrics.count(_ERRORS, held.model.__name__, state.value)
    return state if changed else None


def _held(model: type[Leased], pk: int, token: uuid.UUID) -> QuerySet[Leased]:
    return model.rows().filter(pk=pk, state=WorkState.RUNNING, token=token)


def _lease_end() -> Any:
    return database_now() + timedelta(seconds=settings.ENVIRONMENT.lease_seconds)


class Heartbeat:
    """Calls ``renew`` regularly until it returns false (the claim is lost) or the work is done."""

    def __init__(self, renew: Callable[[], bool], *, name: str) -> None:
        self._renew = renew
        self._stop = threading.Event()
        self._lost = threading.Event()
        # With the ids that the log has here.
        self._thread = threading.Thread(target=copy_context().run, args=[self._beat], name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def lost(self) -> bool:
        """Return whether the work was cancelled, paused or reassigned; a sandbox polls this and kills the box."""
        return self._lost.is_set()

    def _beat(self) -> None:
        pause = min(settings.ENVIRONMENT.lease_seconds / 3, LONGEST_BEAT_SECONDS)
        try:
            while not self._stop.wait(pause):
                close_old_connections()
                try:
                    if not self._renew():
                        self._lost.set()
                        return
                except DATABASE_IS_AWAY as error:
                    # Go on working: once the database is back, the lease decides.
                    log.warning("heartbeat_failed", error=str(error))
        finally:
            connection.close()
