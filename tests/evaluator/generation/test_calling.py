"""A call is stored before it is sent, sent once, and its answer is stored before it is used."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from evaluator.enums import CallPurpose, CallState
from evaluator.models import ModelCall
from evaluator.providers import calling
from evaluator.providers.calling import (
    CallBusyError,
    CallFailedError,
    CallLostError,
    CallRejectedError,
    Order,
    StoppedError,
    call,
    call_key,
)
from evaluator.providers.interface import Message, ModelRequest, TokenUsage
from evaluator.providers.stored_clients import endpoint_client
from evaluator.queue.processes import Owner
from submissions.models import Endpoint
from tests.evaluator.judging.site import endpoint
from tests.provider_server.types import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db

REQUEST = ModelRequest(system="Be brief.", messages=(Message("user", "Say something."),))


def order(made: Endpoint, **fields: Any) -> Order:
    return Order(
        **{
            "purpose": CallPurpose.ANSWER,
            "key": call_key("test"),
            "token": uuid.uuid4(),
            "request": REQUEST,
            "endpoint_id": made.pk,
            "prices": (Decimal(1), Decimal(2)),
            **fields,
        }
    )


def states() -> list[tuple[int, str]]:
    return list(ModelCall.objects.order_by("number").values_list("number", "state"))


def test_an_answered_call_is_never_sent_again(provider: ProviderServer) -> None:
    made = endpoint(provider, "prose")
    client = endpoint_client(made)
    row, reply = call(client, order(made))
    again, same = call(client, order(made, token=uuid.uuid4()))
    assert (again.pk, same.text, same.usage) == (row.pk, reply.text, reply.usage)
    assert len(provider.requests) == 1
    assert (row.state, row.number, row.status, row.returned_model) == (CallState.ANSWERED, 1, 200, "prose")
    assert row.input_tokens == reply.usage.input_tokens > 0
    assert row.dollars == (row.input_tokens + 2 * row.output_tokens) / Decimal(1_000_000)
    assert row.request == provider.requests[0].body


def test_a_call_is_stored_before_it_is_sent(provider: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    made = endpoint(provider, "prose")
    client = endpoint_client(made)
    send, seen = client.send, []

    def watched(body: Any) -> Any:
        seen.append((states(), len(provider.requests)))
        return send(body)

    monkeypatch.setattr(client, "send", watched)
    call(client, order(made))
    assert seen == [([(1, CallState.SENDING)], 0)]


def test_a_call_whose_answer_is_lost_is_in_doubt_and_sent_once_more(provider: ProviderServer) -> None:
    made = endpoint(provider, "breaks-once")
    row, _ = call(endpoint_client(made), order(made))
    assert states() == [(1, CallState.IN_DOUBT), (2, CallState.ANSWERED)]
    assert row.number == 2
    assert [received.body for received in provider.requests] == [row.request, row.request]


def test_a_call_whose_answer_was_lost_twice_is_not_sent_again(provider: ProviderServer) -> None:
    made = endpoint(provider, "breaks")
    client = endpoint_client(made)
    for _ in range(3):
        with pytest.raises(CallLostError, match="sent twice and no answer arrived either time"):
            call(client, order(made))
    assert states() == [(1, CallState.IN_DOUBT), (2, CallState.IN_DOUBT)]
    assert len(provider.requests) == 2


def test_a_call_of_a_dead_sender_is_in_doubt(provider: ProviderServer) -> None:
    made = endpoint(provider, "prose")
    client = endpoint_client(made)
    body = client.body(REQUEST)
    ModelCall.objects.create(
        purpose=CallPurpose.ANSWER, key=call_key("test"), token=uuid.uuid4(), provider="openai", model="m", request=body
    )
    call(client, order(made))
    assert states() == [(1, CallState.IN_DOUBT), (2, CallState.ANSWERED)]
    assert len(provider.requests) == 1


def test_a_call_that_a_live_process_has_under_way_is_not_sent_again(provider: ProviderServer) -> None:
    """The process may have lost its claim (paused, resumed), but its answer can still arrive."""
    made = endpoint(provider, "prose", request_seconds=60)
    row = ModelCall.objects.create(
        purpose=CallPurpose.ANSWER, key=call_key("test"), token=uuid.uuid4(), sender=str(Owner.current()),
        provider="openai", model="m", request=endpoint_client(made).body(REQUEST),
    )  # fmt: skip
    with pytest.raises(CallBusyError, match="The same request is under way at this moment"):
        call(endpoint_client(made), order(made))
    assert (states(), provider.requests) == ([(1, CallState.SENDING)], [])
    ModelCall.objects.filter(pk=row.pk).update(started=timezone.now() - timedelta(seconds=91))
    call(endpoint_client(made), order(made))
    assert states() == [(1, CallState.IN_DOUBT), (2, CallState.ANSWERED)]


def test_a_late_answer_is_kept(provider: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    made = endpoint(provider, "prose")
    client = endpoint_client(made)
    send = client.send

    def fail_and_send(body: Any) -> Any:
        ModelCall.objects.update(state=CallState.FAILED, message="asked anew by hand")
        return send(body)

    monkeypatch.setattr(client, "send", fail_and_send)
    row, reply = call(client, order(made))
    assert (row.state, row.message, row.input_tokens) == (CallState.ANSWERED, "", reply.usage.input_tokens)


def test_implausibly_large_numbers_are_capped_when_stored(
    provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = endpoint(provider, "prose")
    client = endpoint_client(made)
    send = client.send
    usage = TokenUsage(input_tokens=3 * 10**9, output_tokens=3 * 10**9, cached_tokens=3 * 10**9)
    monkeypatch.setattr(client, "send", lambda body: replace(send(body), usage=usage))
    row, _ = call(client, order(made, prices=(Decimal(1000), Decimal(1000))))
    assert (row.input_tokens, row.output_tokens, row.cached_tokens) == (10**8, 10**8, 10**8)
    assert row.dollars == Decimal(99_999)


def test_refusals_with_retry_after_0_lengthen_the_wait_and_only_the_last_are_kept(
    provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "FIRST_PAUSE_SECONDS", 1.0)
    monkeypatch.setattr(calling, "_pause", lambda *_: None)
    made = endpoint(provider, "zero")
    provider.script("zero", Failure("busy", "Slow down.", headers={"Retry-After": "0"}))
    waits = []
    for _ in range(5):
        Endpoint.objects.filter(pk=made.pk).update(not_before=None)
        with pytest.raises(CallBusyError) as error:
            call(endpoint_client(made), order(made))
        waits.append(round((error.value.until - timezone.now()).total_seconds()))
    assert waits == sorted(waits)
    assert waits[-1] > 100
    assert len(provider.requests) > calling.KEPT_REFUSALS
    assert ModelCall.objects.count() == calling.KEPT_REFUSALS


def test_a_wait_of_hours_frees_the_worker_and_is_in_the_message(provider: ProviderServer) -> None:
    made = endpoint(provider, "mine")
    provider.script("mine", Failure("busy", "Slow down.", headers={"Retry-After": "7200"}))
    started = timezone.now()
    with pytest.raises(CallBusyError) as error:
        call(endpoint_client(made), order(made))
    until = f"{error.value.until:%Y-%m-%d %H:%M} UTC"
    assert str(error.value) == f"The provider asks to wait (HTTP 429). The site tries again after {until}."
    wait = error.value.until - started
    assert timedelta(seconds=7200) <= wait < timedelta(seconds=7210)
    made.refresh_from_db()
    assert made.not_before == error.value.until
    assert timezone.now() - started < timedelta(seconds=10)
    assert len(provider.requests) == 1


def test_a_provider_that_fails_gets_three_requests(provider: ProviderServer) -> None:
    made = endpoint(provider, "down-9")
    with pytest.raises(CallFailedError):
        call(endpoint_client(made), order(made))
    assert states() == [(number, CallState.FAILED) for number in (1, 2, 3)]
    assert [row.status for row in ModelCall.objects.all()] == [500, 500, 500]


def test_retry_after_applies_to_all_calls_of_the_endpoint(provider: ProviderServer) -> None:
    made = endpoint(provider, "busy-1")
    call(endpoint_client(made), order(made))
    first, second = provider.requests
    assert second.at - first.at >= 0.9
    made.refresh_from_db()
    assert made.not_before is not None
    Endpoint.objects.filter(pk=made.pk).update(not_before=timezone.now() + timedelta(minutes=5))
    with pytest.raises(CallBusyError) as error:
        call(endpoint_client(made), order(made, key=call_key("other")))
    assert error.value.until - timezone.now() > timedelta(minutes=4)
    assert len(provider.requests) == 2


@pytest.mark.parametrize("model", ["wrong-key", "malformed", "redirect"])
def test_a_call_with_a_permanent_error_is_sent_once(provider: ProviderServer, model: str) -> None:
    made = endpoint(provider, model)
    with pytest.raises(CallRejectedError) as error:
        call(endpoint_client(made), order(made))
    assert not error.value.too_long
    assert states() == [(1, CallState.FAILED)]
    row = ModelCall.objects.get()
    assert row.message == str(error.value)
    assert len(provider.requests) == 1


def test_a_stopped_call_sends_nothing(provider: ProviderServer) -> None:
    made = endpoint(provider, "prose")
    with pytest.raises(StoppedError):
        call(endpoint_client(made), order(made), stop=lambda: True)
    assert (states(), provider.requests) == ([], [])


@pytest.mark.parametrize(("one", "other"), [(("ab", "c"), ("a", "bc")), (("a",), ("a", "")), (("",), ())])
def test_keys_of_different_parts_differ(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert call_key(*one) != call_key(*other)
    assert call_key(*one) == call_key(*one)


def test_the_first_answer_counts_when_two_arrive(provider: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    made = endpoint(provider, "prose")
    client = endpoint_client(made)
    send: Callable[[Any], Any] = client.send

    def send_and_store_another(body: Any) -> Any:
        reply = send(body)
        if not ModelCall.objects.filter(number=2).exists():
            ModelCall.objects.create(
                purpose=CallPurpose.ANSWER, key=call_key("test"), number=2, state=CallState.ANSWERED,
                provider="openai", model="m", request=body, response=reply.raw,
            )  # fmt: skip
        return reply

    monkeypatch.setattr(client, "send", send_and_store_another)
    with pytest.raises(CallBusyError):
        call(client, order(made))
    assert states() == [(1, CallState.FAILED), (2, CallState.ANSWERED)]
    assert call(client, order(made))[0].number == 2
