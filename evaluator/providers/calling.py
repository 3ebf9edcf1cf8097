"""Asking a model exactly once: a call is written down before it is sent, and its answer before it is used.

A call that was sent and whose answer was lost (the worker died, the connection broke) is in doubt: the provider may
have answered, and been paid. It is repeated at most once, and shown so.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from evaluator.enums import CallState
from evaluator.models import ModelCall
from evaluator.providers.spending import used
from evaluator.providers.types import BUSY_STATUSES, FaultKind, ProviderFault
from evaluator.queue.database import retry, storable, storable_text
from evaluator.queue.leases import is_under_way
from evaluator.queue.processes import Owner
from submissions.models import Endpoint

if TYPE_CHECKING:
    import uuid
    from collections.abc import Callable
    from datetime import datetime

    from evaluator.enums import CallPurpose
    from evaluator.providers.spending import Prices
    from evaluator.providers.types import ModelClient, ModelReply, ModelRequest

log = structlog.get_logger(__name__)

SENDINGS: Final = 3
"""How often a request is sent at most while the provider itself says that it failed, before the work waits."""

DOUBTS: Final = 2
"""How often a request may get lost: the first time and its one repetition."""

LONGEST_PAUSE_SECONDS: Final = 300.0
KEPT_REFUSALS: Final = 5
"""Of the sendings that a busy provider refused, so many are kept for each request: they may go on for days."""

FIRST_PAUSE_SECONDS = 1.0
WAIT_HERE_SECONDS: Final = 10.0
"""For so long a provider's ``Retry-After`` is waited for here; longer ones free the worker."""
_TICK_SECONDS = 0.2


class CallError(Exception):
    """A request that has no answer. The message is for whoever owns the work."""


class CallLostError(CallError):
    """The answer was lost twice: whether the provider did the work, and counted it, is not known."""


class CallBusyError(CallError):
    """Not now: the provider asked to wait ``until`` then, or another worker has this very request under way."""

    def __init__(self, message: str, *, until: datetime) -> None:
        super().__init__(message)
        self.until = until


class CallFaultError(CallError):
    """The provider failed again and again, or could not be reached: worth another try later."""


class CallRejectedError(CallError):
    """The provider will never take this (key, model, form, length), or may not be called: a person has to act."""

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


class StoppedError(Exception):
    """The caller's ``stop`` said so before a request was sent."""


@dataclass(frozen=True, slots=True)
class Order:
    """One request to be answered once. ``prices`` are US dollars per million tokens, in and out.

    All requests to ``endpoint_id`` wait together when its provider asks for it.
    """

    purpose: CallPurpose
    key: str
    token: uuid.UUID
    request: ModelRequest
    answer_request_id: int | None = None
    step: int = 0
    endpoint_id: int | None = None
    prices: Prices = (None, None)


def call_key(*parts: str) -> str:
    """SHA-256 over the parts, each with its length before it, so that no two lists of parts have the same key."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass")
        total.update(f"{len(data)}:".encode() + data)
    return total.hexdigest()


def call(
    client: ModelClient, order: Order, *, stop: Callable[[], bool] = lambda: False
) -> tuple[ModelCall, ModelReply]:
    """The answer to ``order``: the stored one, else the provider's.

    Raises :class:`CallLostError`, :class:`CallBusyError`, :class:`CallFaultError`, :class:`CallRejectedError` and
    :class:`StoppedError`.
    """
    for number in range(SENDINGS):
        stored = _answered_call(order, client.settings.request_seconds)
        if stored is not None:
            assert stored.response is not None  # noqa: S101 - an answered call has one
            try:
                return stored, client.read(stored.response)
            except ProviderFault as fault:
                _take_back(stored, fault)
        _await_turn(order, stop)
        try:
            return _send(client, order)
        except ProviderFault as fault:
            _wait_or_give_up(fault, order, number, stop)
    msg = "unreachable"
    raise AssertionError(msg)


def answered(key: str) -> ModelCall | None:
    """The call under ``key`` that has an answer."""
    return ModelCall.objects.filter(key=key, state=CallState.ANSWERED).first()


def _answered_call(order: Order, seconds: float) -> ModelCall | None:
    """The answered call, if any, after what lost senders left has been marked as in doubt."""
    calls = list(ModelCall.objects.filter(key=order.key).order_by("number"))
    for each in calls:
        if each.state == CallState.ANSWERED:
            return each
        if each.state == CallState.SENDING:
            if each.token != order.token and is_under_way(each, seconds):
                msg = "The same is being asked at this moment."
                raise CallBusyError(msg, until=timezone.now() + timedelta(seconds=2))
            _mark_in_doubt(each, "Its sender ended before an answer was stored.")
            each.state = CallState.IN_DOUBT
    if sum(each.state == CallState.IN_DOUBT for each in calls) >= DOUBTS:
        msg = (
            "The model was asked twice and no answer arrived either time; it may have been charged for both. "
            "Nothing more is sent by itself."
        )
        raise CallLostError(msg)
    return None


def _send(client: ModelClient, order: Order) -> tuple[ModelCall, ModelReply]:
    """Write the call down, send it, store what came. Raises :class:`ProviderFault`."""
    row = _write_down(client, order)
    started = time.monotonic()
    try:
        reply = client.send(row.request)
    except ProviderFault as fault:
        _store_fault(row, fault, order.prices)
        raise
    # Paid for: it must not be lost because the database is away for a moment.
    if not retry(lambda: _store_reply(row, reply, order.prices)):
        msg = "Another worker had the same answered at this moment."
        raise CallBusyError(msg, until=timezone.now())
    note_usage(order.endpoint_id, reply)
    row.refresh_from_db()
    log.info("model_answered", call=row.pk, seconds=round(time.monotonic() - started, 2), finish=reply.finish.value)
    return row, reply


def note_usage(endpoint_id: int | None, reply: ModelReply) -> None:
    """Note on the endpoint whether its provider reports token usage: limits of runs depend on it."""
    if reply.problem:
        return  # errors come without usage
    reports = reply.usage.input_tokens is not None and reply.usage.output_tokens is not None
    Endpoint.objects.filter(pk=endpoint_id or 0).exclude(reports_usage=reports).update(reports_usage=reports)


def _write_down(client: ModelClient, order: Order) -> ModelCall:
    try:
        with transaction.atomic():
            last = ModelCall.objects.filter(key=order.key).order_by("-number").first()
            return ModelCall.objects.create(
                purpose=order.purpose,
                key=order.key,
                number=last.number + 1 if last else 1,
                answer_request_id=order.answer_request_id,
                step=order.step,
                endpoint_id=order.endpoint_id,
                token=order.token,
                sender=str(Owner.current()),
                provider=client.settings.provider,
                model=client.settings.model,
                # A repetition sends what was sent before, delimiters and all.
                request=last.request if last else storable(client.body(order.request)),
            )
    except IntegrityError:
        msg = "Another worker is asking the same at this moment."
        raise CallBusyError(msg, until=timezone.now() + timedelta(seconds=2)) from None


def _store_reply(row: ModelCall, reply: ModelReply, prices: Prices) -> bool:
    """Store the answer; false where the same was answered by another call meanwhile, whose answer counts."""
    # Also when the claim was lost, or the call is in doubt by now: an answer that is there is worth having.
    facts: dict[str, Any] = {
        "response": storable(reply.raw),
        "status": reply.status,
        "request_id": storable_text(reply.request_id)[:120],
        "returned_model": storable_text(reply.model)[:120],
        **used(row.request, reply.raw, reply.usage, prices),
        "ended": timezone.now(),
    }
    open_call = ModelCall.objects.filter(pk=row.pk).exclude(state=CallState.ANSWERED)
    try:
        with transaction.atomic():
            # True also for a repetition of this very commit, whose success was not reported.
            open_call.update(state=CallState.ANSWERED, error="", message=reply.problem, **facts)
    except IntegrityError:
        open_call.update(state=CallState.FAILED, message="Another call had been answered first.", **facts)
        return False
    return True


def _store_fault(row: ModelCall, fault: ProviderFault, prices: Prices) -> None:
    facts: dict[str, Any] = {
        "status": fault.status,
        "error": fault.error[:120],
        "request_id": fault.request_id[:120],
    }
    if fault.usage is not None:
        facts |= {"response": storable(fault.raw), **used(row.request, fault.raw, fault.usage, prices)}
    elif fault.kind is not FaultKind.LOST:
        facts["dollars"] = 0  # it used no tokens
    if fault.kind is FaultKind.LOST:
        _mark_in_doubt(row, fault.message, **facts)
    else:
        sending = ModelCall.objects.filter(pk=row.pk, state=CallState.SENDING)
        retry(lambda: sending.update(state=CallState.FAILED, message=fault.message, ended=timezone.now(), **facts))


def _take_back(row: ModelCall, fault: ProviderFault) -> None:
    """Mark an answered call as failed: an earlier version of this site took the provider's error for an answer."""
    taken = ModelCall.objects.filter(pk=row.pk, state=CallState.ANSWERED)
    retry(lambda: taken.update(state=CallState.FAILED, error=fault.error[:120], message=fault.message))


def _mark_in_doubt(row: ModelCall, message: str, **facts: Any) -> None:
    sending = ModelCall.objects.filter(pk=row.pk, state=CallState.SENDING)
    retry(lambda: sending.update(state=CallState.IN_DOUBT, message=message, ended=timezone.now(), **facts))


def _wait_or_give_up(fault: ProviderFault, order: Order, number: int, stop: Callable[[], bool]) -> None:
    """Wait until the next sending makes sense. Raises what the caller gets when it does not."""
    if fault.kind in (FaultKind.REJECTED, FaultKind.FORBIDDEN, FaultKind.HOSTILE):
        raise CallRejectedError(fault.message, too_long=fault.too_long) from None
    wait = FIRST_PAUSE_SECONDS * 2**number
    if fault.kind is FaultKind.BUSY:
        wait = _busy_pause(order, fault.retry_after)
        until = timezone.now() + timedelta(seconds=wait)
        Endpoint.objects.filter(pk=order.endpoint_id or 0).update(not_before=until)
        if wait > WAIT_HERE_SECONDS or number == SENDINGS - 1:
            msg = f"{fault.lasting} It is asked again after {until:%Y-%m-%d %H:%M} UTC."
            raise CallBusyError(msg, until=until) from None
    elif number == SENDINGS - 1:
        raise CallFaultError(fault.message) from None
    _pause(min(wait, WAIT_HERE_SECONDS), stop)


def _busy_pause(order: Order, retry_after: float | None) -> float:
    """As long as the provider asked for, and longer each time, so that ``Retry-After: 0`` is no endless loop.

    Older refusals of the same request are dropped on the way.
    """
    refused = ModelCall.objects.filter(key=order.key, state=CallState.FAILED, status__in=BUSY_STATUSES)
    last = refused.order_by("-number").values_list("number", flat=True).first() or 1
    refused.filter(number__lte=last - KEPT_REFUSALS).delete()
    doubled: float = FIRST_PAUSE_SECONDS * 2.0 ** min(last - 1, 10)
    return max(retry_after or 0.0, min(doubled, LONGEST_PAUSE_SECONDS))


def _await_turn(order: Order, stop: Callable[[], bool]) -> None:
    """Let the time pass that the provider asked all requests to this endpoint to wait, or leave the worker free."""
    if stop():
        raise StoppedError
    until = Endpoint.objects.filter(pk=order.endpoint_id or 0).values_list("not_before", flat=True).first()
    wait = (until - timezone.now()).total_seconds() if until else 0.0
    if until and wait > WAIT_HERE_SECONDS:
        msg = "The provider asked to wait."
        raise CallBusyError(msg, until=until)
    _pause(wait, stop)


def _pause(seconds: float, stop: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if stop():
            raise StoppedError
        time.sleep(_TICK_SECONDS)
