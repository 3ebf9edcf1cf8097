"""What passes between a test and an answer in another box, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evaluator.testing.box import frames
from evaluator.testing.box.travel import Packer
from evaluator.testing.upstream_relay import Relay
from evaluator.testing.upstream_results import EMPTY, NAN

if TYPE_CHECKING:
    from collections.abc import Iterator

HELLO = frames.encode({"kind": "hello"})


def call(number: int = 0, *args: object) -> bytes:
    parcel = Packer().pack(args) if args else {"things": [], "root": None}
    return frames.encode({"kind": "call", "id": number, "parcel": parcel})


def returned(value: object, number: int = 0, **more: object) -> bytes:
    parcel = Packer().pack(value)
    return frames.encode({"kind": "returned", "id": number, "parcel": parcel, "changes": [], **more})


@pytest.fixture
def relay() -> Iterator[Relay]:
    made = Relay(copies_back=False, allowed=frozenset())
    made.test.received(HELLO)
    made.goal.received(HELLO)
    yield made
    made.close()


def sent_to_test(relay: Relay) -> list[Any]:
    data, _ = relay.test.feed.take()
    whole, rest = frames.split(data)
    assert rest == b""
    return [frames.decode(frame) for frame in whole]


def test_a_call_and_its_result_pass(relay: Relay) -> None:
    relay.test.received(call())
    assert relay.goal.feed.take() == (call(), False)
    answer = returned([1.5])
    for byte in answer:
        relay.goal.received(bytes([byte]))
    assert sent_to_test(relay) == [frames.decode(answer)]
    assert (relay.tampering, relay.stopped.is_set()) == (False, False)


@pytest.mark.parametrize(
    "forged",
    [
        returned([1.5]),
        returned([1.5], number=1),
        b"Test Passed",
        frames.encode({"kind": "report", "id": 0}),
        frames.encode({"kind": "raised", "id": 0, "type": "E", "message": "", "traceback": [1]}),
        frames.encode({"kind": "raised", "id": 0, "type": 1, "message": "", "traceback": []}),
        frames.encode({"kind": "unsupported", "id": 0, "error": ["x"]}),
        frames.encode({"kind": "unsupported", "id": True, "error": "x"}),
        frames.encode({"kind": ["returned"], "id": 0}),
        frames.encode([1]),
        returned(1, more=1),
    ],
    ids=range(11),
)
def test_anything_else_is_tampering(relay: Relay, forged: bytes) -> None:
    if forged != returned([1.5]):  # which would be right if it had been asked for
        relay.test.received(call())
    relay.goal.received(forged)
    assert (relay.tampering, relay.stopped.is_set(), sent_to_test(relay)) == (True, True, [])


def test_a_second_result_is_tampering(relay: Relay) -> None:
    relay.test.received(call())
    relay.goal.received(returned(1) + returned(2))
    assert relay.tampering
    assert len(sent_to_test(relay)) == 1


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (np.empty((0, 3)), "an empty container"),
        ([], "an empty container"),
        ((1, ()), "an empty container"),
        (float("nan"), "a NaN"),
        (np.array([1.0, np.nan]), "a NaN"),
        ({"a": [np.float32("nan")]}, "a NaN"),
    ],
)
def test_what_the_reference_never_returns_does_not_reach_the_test(relay: Relay, value: object, what: str) -> None:
    relay.test.received(call())
    relay.goal.received(returned(value))
    (answer,) = sent_to_test(relay)
    assert answer == {
        "id": 0,
        "kind": "unsupported",
        "error": f"the result holds {what}, where the reference's never does",
    }
    assert not relay.tampering


def test_an_empty_argument_cannot_be_handed_back_as_the_result(relay: Relay) -> None:
    relay.test.received(call(0, [], [1]))
    relay.goal.received(
        frames.encode({"kind": "returned", "id": 0, "parcel": {"things": [], "root": {"thing": 0}}, "changes": []})
    )
    assert sent_to_test(relay)[0]["kind"] == "unsupported"
    relay.test.received(call(1, [], [1]))
    relay.goal.received(
        frames.encode({"kind": "returned", "id": 1, "parcel": {"things": [], "root": {"thing": 1}}, "changes": []})
    )
    assert sent_to_test(relay)[0]["kind"] == "returned"


def test_what_the_reference_does_is_noted_and_allowed() -> None:
    relay = Relay(copies_back=True, allowed=None)
    relay.goal.received(HELLO)
    relay.test.received(HELLO + call())
    relay.goal.received(returned([[], float("nan")], changes=[[0, {"list": [1]}]]))
    assert (relay.returned, relay.changed_arguments) == ({EMPTY, NAN}, True)
    assert sent_to_test(relay)[0]["changes"] == [[0, {"list": [1]}]]
    relay.close()


def test_changes_of_arguments_stay_behind_where_the_reference_makes_none(relay: Relay) -> None:
    relay.test.received(call())
    relay.goal.received(returned(1, changes=[[0, {"list": [1]}]]))
    assert sent_to_test(relay)[0]["changes"] == []


def test_an_answer_that_dies_in_a_call_stops_the_test(relay: Relay) -> None:
    relay.test.received(call())
    relay.goal_has_ended()
    assert (relay.lost, relay.stopped.is_set()) == (True, True)


def test_an_answer_that_has_died_stops_the_next_call(relay: Relay) -> None:
    relay.goal_has_ended()
    assert not relay.stopped.is_set()
    relay.test.received(call())
    assert (relay.lost, relay.stopped.is_set()) == (True, True)


def test_the_end_of_the_test_ends_the_answer(relay: Relay) -> None:
    relay.test.received(call())
    relay.goal.feed.take()
    relay.test_has_ended()
    relay.goal_has_ended()
    assert relay.goal.feed.take() == (b"", True)
    assert not relay.lost
