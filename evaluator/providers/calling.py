"""Call a model exactly once: a call is stored before it is sent, and its answer before it is used.

A call that was sent but whose answer was lost (the worker died, the connection broke) is in doubt: the provider may
have answered and charged for it. Such a call is repeated at most once and shown as in doubt.
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

from benchmark_tasks.domain import metrics
from evaluator.enums import CallState
from evaluator.models import ModelCall
from evaluator.providers.interface import BUSY_STATUSES, FailureKind, ProviderError
from evaluator.providers.spending import used
from evaluator.queue.database import retry, storable, storable_text
from evaluator.queue.leases import is_under_way
from evaluator.queue.processes import Owner
from submissions.models import Endpoint

if TYPE_CHECKING:
    import uuid
    from collections.abc import Callable
    from datetime import datetime

    from evaluator.enums import CallPurpose
    from evaluator.providers.interface import ModelClient, ModelReply, ModelRequest
    from evaluator.providers.spending import Prices

log = structlog.get_logger(__name__)

SENDINGS: Final = 3
"""How often a request is sent at most while the provider reports its own errors, before the work waits."""

DOUBTS: Final = 2
"""How many sendings of a request may be lost: the first one and its one repetition."""

LONGEST_PAUSE_SECONDS: Final = 300.0
KEPT_REFUSALS: Final = 5
"""How many sendings refused by a busy provider are kept per request: the refusals may go on for days."""

FIRST_PAUSE_SECONDS = 1.0
WAIT_HERE_SECONDS: Final = 10.0
"""The longest ``Retry-After`` in seconds that a worker waits for itself; a longer one frees the worker."""
_TICK_SECONDS = 0.2

_CALL_SECONDS: Final = metrics.histogram(
    "model_call_seconds",
    "Seconds that a request to a model took, by its result.",
    *("provider", "result"),
    buckets=(0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0),
)
_DOLLARS: Final = metrics.counter("model_dollars", "US dollars that answered requests to models cost.", "purpose")


class CallError(Exception):
    """A request has no answer. The message is for the owner of the work."""


class CallLostError(CallError):
    """The answer was lost twice: it is unknown whether the provider answered and charged for the request."""


class CallBusyError(CallError):
    """Try again at ``until``: the provider asked to wait, or another worker has the same request under way."""

    def __init__(self, message: str, *, until: datetime) -> None:
        super().__init__(message)
        self.until = until


class CallFailedError(CallError):
    """The provider failed repeatedly or could not be reached; a later try may succeed."""


class CallRejectedError(CallError):
    """The provider will never accept this request (key, model, form, length), or may not be called: a user must act."""

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


class StoppedError(Exception):
    """The caller's ``stop`` returned true before a request was sent."""


@dataclass(frozen=True, slots=True)
class Order:
    """One request to be answered once. ``prices`` are US dollars per million input and output tokens.

    When a provider asks to wait, all requests to its ``endpoint_id`` wait.
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
    """Return SHA-256 over the parts, each with its length before it, so that no two lists of parts share a key."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass")
        total.update(f"{len(data)}:".encode() + data)
    return total.hexdigest()


def call(
    client: ModelClient, order: Order, *, stop: Callable[[], bool] = lambda: False
) -> tuple[ModelCall, ModelReply]:
    """Return the answer to ``order``: the stored one, else the provider's.

    Raises :class:`CallLostError`, :class:`CallBusyError`, :class:`CallFailedError`, :class:`CallRejectedError` and
    :class:`StoppedError`.
    """
    for number in range(SENDINGS):
        stored = _answered_call(order, client.settings.request_seconds)
        if stored is not None:
            assert stored.response is not None  # noqa: S101 - an answered call has one
            try:
                return stored, client.read(stored.response)
            except ProviderError as failure:
                _mark_failed(stored, failure)
        _await_turn(order, stop)
        try:
            return _send(client, order)
        except ProviderError as failure:
            _wait_or_give_up(failure, order, number, stop)
    msg = "unreachable"
    raise AssertionError(msg)


def answered(key: str) -> ModelCall | None:
    """Return the answered call under ``key``, if any."""
    return ModelCall.objects.filter(key=key, state=CallState.ANSWERED).first()


def _answered_call(order: Order, seconds: float) -> ModelCall | None:
    """Return the answered call, if any; first mark calls of dead senders as in doubt."""
    calls = list(ModelCall.objects.filter(key=order.key).order_by("number"))
    for each in calls:
        if each.state == CallState.ANSWERED:
            return each
        if each.state == CallState.SENDING:
            if each.token != order.token and is_under_way(each, seconds):
                msg = "The same request is under way at this moment."
                raise CallBusyError(msg, until=timezone.now() + timedelta(seconds=2))
            _mark_in_doubt(each, "Its sender ended before an answer was stored.")
            each.state = CallState.IN_DOUBT
    if sum(each.state == CallState.IN_DOUBT for each in calls) >= DOUBTS:
        msg = (
            "The request was sent twice and no answer arrived either time; the provider may have charged for both. "
            "It is not sent again automatically."
        )
        raise CallLostError(msg)
    return None


def _send(client: ModelClient, order: Order) -> tuple[ModelCall, ModelReply]:
    """Store the call, send it, store the result. Raises :class:`ProviderError`."""
    row = _store_call(client, order)
    started = time.monotonic()
    try:
        reply = client.send(row.request)
    except ProviderError as failure:
        metrics.observe(_CALL_SECONDS, time.monotonic() - started, row.provider, failure.kind.value)
        _store_failure(row, failure, order.prices)
        raise
    metrics.observe(_CALL_SECONDS, time.monotonic() - started, row.provider, "answered")
    # The answer is paid for: do not lose it because the database is away for a moment.
    if not retry(lambda: _store_reply(row, reply, order.prices)):
        msg = "Another worker got the same answer at this moment."
        raise CallBusyError(msg, until=timezone.now())
    note_usage(order.endpoint_id, reply)
    row.refresh_from_db()
    if row.dollars:
        metrics.count(_DOLLARS, row.purpose, by=float(row.dollars))
    log.info("model_answered", call=row.pk, seconds=round(time.monotonic() - started, 2), finish=reply.finish.value)
    return row, reply


def note_usage(endpoint_id: int | None, reply: ModelReply) -> None:
    """Store on the endpoint whether its provider reports token usage: limits of runs depend on it."""
    if reply.problem:
        return  # errors come without usage
    reports = reply.usage.input_tokens is not None and reply.usage.output_tokens is not None
    Endpoint.objects.filter(pk=endpoint_id or 0).exclude(reports_usage=reports).update(reports_usage=reports)


def _store_call(client: ModelClient, order: Order) -> ModelCall:
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
                # A repetition sends the same body, random delimiters included.
                request=last.request if last else storable(client.body(order.request)),
            )
    except IntegrityError:
        msg = "Another worker is sending the same request at this moment."
        raise CallBusyError(msg, until=timezone.now() + timedelta(seconds=2)) from None


def _store_reply(row: ModelCall, reply: ModelReply, prices: Prices) -> bool:
    """Store the answer; return False if another call answered meanwhile, whose answer counts."""
    # Stored even if the claim was lost or the call is in doubt by now: an existing answer is worth keeping.
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
            # Also updates when this very commit is repeated because its success was not reported.
            open_call.update(state=CallState.ANSWERED, error="", message=reply.problem, **facts)
    except IntegrityError:
        open_call.update(state=CallState.FAILED, message="Another call was answered first.", **facts)
        return False
    return True


def _store_failure(row: ModelCall, failure: ProviderError, prices: Prices) -> None:
    facts: dict[str, Any] = {
        "status": failure.status,
        "error": failure.error[:120],
        "request_id": failure.request_id[:120],
    }
    if failure.usage is not None:
        facts |= {"response": storable(failure.raw), **used(row.request, failure.raw, failure.usage, prices)}
    elif failure.kind is not FailureKind.LOST:
        facts["dollars"] = 0  # it used no tokens
    if failure.kind is FailureKind.LOST:
        _mark_in_doubt(row, failure.message, **facts)
    else:
        sending = ModelCall.objects.filter(pk=row.pk, state=CallState.SENDING)
        retry(lambda: sending.update(state=CallState.FAILED, message=failure.message, ended=timezone.now(), **facts))


def _mark_failed(row: ModelCall, failure: ProviderError) -> None:
    """Mark an answered call as failed: an earlier version of this site mistook the provider's error for an answer."""
    taken = ModelCall.objects.filter(pk=row.pk, state=CallState.ANSWERED)
    retry(lambda: taken.update(state=CallState.FAILED, error=failure.error[:120], message=failure.message))


def _mark_in_doubt(row: ModelCall, message: str, **facts: Any) -> None:
    sending = ModelCall.objects.filter(pk=row.pk, state=CallState.SENDING)
    retry(lambda: sending.update(state=CallState.IN_DOUBT, message=message, ended=timezone.now(), **facts))


def _wait_or_give_up(failure: ProviderError, order: Order, number: int, stop: Callable[[], bool]) -> None:
    """Wait until the next sending makes sense; otherwise raise the caller's error."""
    if failure.kind in (FailureKind.REJECTED, FailureKind.FORBIDDEN, FailureKind.HOSTILE):
        raise CallRejectedError(failure.message, too_long=failure.too_long) from None
    wait = FIRST_PAUSE_SECONDS * 2**number
    if failure.kind is FailureKind.BUSY:
        wait = _busy_pause(order, failure.retry_after)
        until = timezone.now() + timedelta(seconds=wait)
        Endpoint.objects.filter(pk=order.endpoint_id or 0).update(not_before=until)
        if wait > WAIT_HERE_SECONDS or number == SENDINGS - 1:
            msg = f"{failure.lasting} The site tries again after {until:%Y-%m-%d %H:%M} UTC."
            raise CallBusyError(msg, until=until) from None
    elif number == SENDINGS - 1:
        raise CallFailedError(failure.message) from None
    _pause(min(wait, WAIT_HERE_SECONDS), stop)


def _busy_pause(order: Order, retry_after: float | None) -> float:
    """Return the provider's requested wait in seconds, longer each time so that ``Retry-After: 0`` cannot loop.

    Older refusals of the same request are deleted.
    """
    refused = ModelCall.objects.filter(key=order.key, state=CallState.FAILED, status__in=BUSY_STATUSES)
    last = refused.order_by("-number").values_list("number", flat=True).first() or 1
    refused.filter(number__lte=last - KEPT_REFUSALS).delete()
    doubled: float = FIRST_PAUSE_SECONDS * 2.0 ** min(last - 1, 10)
    return max(retry_after or 0.0, min(doubled, LONGEST_PAUSE_SECONDS))


def _await_turn(order: Order, stop: Callable[[], bool]) -> None:
    """Wait until the provider accepts requests to this endpoint again, or free the worker if that takes long."""
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
