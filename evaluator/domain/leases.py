"""Holding work by a token and a lease: what test runs do, for every model that is :class:`Leased`.

Whoever holds the newest token decides the row; everybody else's result is discarded (SANDBOX, section f). All changes
are conditional updates, so a job that is delivered twice works once.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone

from evaluator.domain.heartbeat import Heartbeat
from evaluator.enums import WorkState
from evaluator.models.leasing import Leased

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

_Work = TypeVar("_Work", bound=Leased)

_GONE = "the process that worked on it ended or stood still"
INFRA_TRIES = 3
"""How often a fault may be met before the work is held for its owner or an operator."""


def due(queryset: QuerySet[_Work]) -> QuerySet[_Work]:
    """Those of ``queryset`` that wait and may be begun now."""
    now = Q(not_before__isnull=True) | Q(not_before__lte=timezone.now())
    return queryset.filter(now, state=WorkState.QUEUED)


def claim(model: type[Leased], pk: int) -> uuid.UUID | None:
    """Take one row that waits; the token, or ``None`` when another worker was faster."""
    token = uuid.uuid4()
    waiting = model.rows().filter(pk=pk, state=WorkState.QUEUED)
    taken = waiting.update(state=WorkState.RUNNING, token=token, lease_until=_lease_end(), not_before=None)
    return token if taken else None


def extend(model: type[Leased], pk: int, token: uuid.UUID) -> bool:
    """Heartbeat: renew the lease. False when the claim is lost (expired and taken, or cancelled)."""
    return bool(_held(model, pk, token).update(lease_until=_lease_end()))


def release(
    model: type[Leased], pk: int, token: uuid.UUID, *, reason: str = "", not_before: datetime | None = None
) -> bool:
    """Let work wait again without counting a fault; say whether it was still held by ``token``."""
    return bool(
        _held(model, pk, token).update(
            state=WorkState.QUEUED, token=None, lease_until=None, not_before=not_before, reason=reason
        )
    )


def record_fault(model: type[Leased], pk: int, token: uuid.UUID, *, reason: str, hold: bool = False) -> bool:
    """Count a fault: the work waits, longer each time, and after three tries (or at once) it is held.

    Returns whether it is held now.
    """
    row = _held(model, pk, token).first()
    if row is None:
        return False
    count = row.infra_count + 1
    held = hold or count >= INFRA_TRIES
    pause = timedelta(seconds=settings.ENVIRONMENT.infra_retry_seconds * count)
    changed = _held(model, pk, token).update(
        state=WorkState.HELD if held else WorkState.QUEUED,
        token=None,
        lease_until=None,
        infra_count=count,
        not_before=None if held else timezone.now() + pause,
        reason=reason,
    )
    return bool(changed) and held


def finish(model: type[Leased], pk: int, token: uuid.UUID, **fields: Any) -> bool:
    """Decide the work if ``token`` still holds it; say whether it did."""
    return bool(
        _held(model, pk, token).update(
            state=WorkState.DONE,
            token=None,
            lease_until=None,
            not_before=None,
            finished=timezone.now(),
            **{"reason": "", **fields},
        )
    )


def expire(model: type[Leased]) -> int:
    """Let every row wait again whose worker stopped renewing its lease; say how many.

    It counts as a fault: what kills or hangs a worker three times is held instead of killing the next one.
    """
    late = model.rows().filter(state=WorkState.RUNNING, lease_until__lt=timezone.now())
    freed = {"token": None, "lease_until": None, "infra_count": F("infra_count") + 1}
    # What counts the third time is held before the rest is queued, or it would be queued and claimed in between.
    held = late.filter(infra_count__gte=INFRA_TRIES - 1).update(state=WorkState.HELD, reason=_GONE, **freed)
    return held + late.update(state=WorkState.QUEUED, reason=_GONE, **freed)


def is_live(token: uuid.UUID, models: tuple[type[Leased], ...]) -> bool:
    """Whether any of ``models`` has a row that is still held by ``token``."""
    alive = Q(state=WorkState.RUNNING, token=token, lease_until__gte=timezone.now())
    return any(model.rows().filter(alive).exists() for model in models)


def heartbeat(model: type[Leased], pk: int, token: uuid.UUID) -> Heartbeat:
    """Keeps the lease on one row alive."""
    return Heartbeat(partial(extend, model, pk, token), name=f"{model.__name__}-{pk}")


def _held(model: type[Leased], pk: int, token: uuid.UUID) -> QuerySet[Leased]:
    return model.rows().filter(pk=pk, state=WorkState.RUNNING, token=token)


def _lease_end() -> datetime:
    return timezone.now() + timedelta(seconds=settings.ENVIRONMENT.lease_seconds)
