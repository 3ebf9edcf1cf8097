"""What passes between a test and an answer in another box, what does not, and what of it fools a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evaluator.testing.box import frames, remote
from evaluator.testing.box.payloads import Packer
from evaluator.testing.upstream_relay import EMPTY, NAN, WORDS, Relay, peculiarities

if TYPE_CHECKING:
    from collections.abc import Iterator

HELLO = frames.encode({"kind": "hello"})


def call(number: int = 0, *args: object) -> bytes:
    payload = Packer().pack(args) if args else {"things": [], "root": None}
    return frames.encode({"kind": "call", "id": number, "payload": payload})


def returned(value: object, number: int = 0, **more: object) -> bytes:
    payload = Packer().pack(value)
    return frames.encode({"kind": "returned", "id": number, "payload": payload, "changes": [], **more})


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
        frames.encode({"kind": "raised", "id": 0, "type": "E", "message": "", "traceback": [1]}),
        frames.encode({"kind": "unsupported", "id": True, "error": "x"}),
        frames.encode({"kind": ["returned"], "id": 0}),
        frames.encode([1]),
        returned(1, more=1),
    ],
    ids=range(8),
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
        ((1, ()), "an empty container"),
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
        frames.encode({"kind": "returned", "id": 0, "payload": {"things": [], "root": {"thing": 0}}, "changes": []})
    )
    assert sent_to_test(relay)[0]["kind"] == "unsupported"
    relay.test.received(call(1, [], [1]))
    relay.goal.received(
        frames.encode({"kind": "returned", "id": 1, "payload": {"things": [], "root": {"thing": 1}}, "changes": []})
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


def test_the_end_of_the_test_ends_the_answer(relay: Relay) -> None:
    relay.test.received(call())
    relay.goal.feed.take()
    relay.test_has_ended()
    relay.goal_has_ended()
    assert relay.goal.feed.take() == (b"", True)
    assert not relay.lost


def packed(root: object, *things: object) -> dict[str, Any]:
    return {"things": list(things), "root": root}


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        *(
            (plain, set())
            for plain in (1.5, True, None, "text", [1, "", None], np.ones(2), {"a": (1, range(2))}, b"\0")
        ),
        (np.array(np.inf), set()),
        ([range(3, 1)], {EMPTY}),
        ("", {EMPTY}),
        (b"", {EMPTY}),
        ([{}], {EMPTY}),
        (complex(0, float("nan")), {NAN}),
        ({"Passed": 1}, {WORDS}),
        ([b"1 Failed"], {WORDS}),
    ],
)
def test_what_fools_a_comparison_is_found(value: object, kinds: set[str]) -> None:
    assert peculiarities(Packer().pack(value), [], []) == kinds


@pytest.mark.parametrize(
    ("payload", "kinds"),
    [
        (packed(np.ones(2)), set()),
        (packed({"size": []}), {EMPTY}),
        (packed({"size": [2]}), set()),
        (packed({"range": 3}), set()),
        (packed({"thing": 0}, {"frame": [[], {"column": np.arange(3)}]}), {EMPTY}),
    ],
)
def test_forms_that_only_libraries_or_a_forger_write(payload: dict[str, Any], kinds: set[str]) -> None:
    assert peculiarities(payload, [], []) == kinds
    assert peculiarities(packed(1), [[0, {"array": np.array([np.nan])}]], []) == {NAN}


@pytest.mark.parametrize(
    ("bits", "kinds"),
    [(0x7FC0, {NAN}), (0xFFC1, {NAN}), (0x7F80, set()), (0x3F80, set())],
)
def test_a_nan_of_16_bits_is_one(bits: int, kinds: set[str]) -> None:
    for shape in ((), (1, 2)):
        raw = np.full(shape, bits, dtype=np.uint16).view(np.int16)
        tensor = {"tensor": raw, "dtype": "bfloat16", "gradient": False}
        assert peculiarities(packed({"thing": 0}, tensor), [], []) == kinds
        assert peculiarities(packed({"thing": 0}, {**tensor, "dtype": "int16"}), [], []) == set()


def test_an_argument_that_is_handed_back_is_looked_at_and_no_other() -> None:
    arguments = [{"list": [1]}, {"list": []}, {"list": [{"thing": 1}, {"thing": 2}]}]
    assert peculiarities(packed({"thing": 0}), [], arguments) == set()
    assert peculiarities(packed({"thing": 1}), [], arguments) == {EMPTY}
    assert peculiarities(packed({"tuple": [{"thing": 2}]}), [], arguments) == {EMPTY}
    for wrong in (3, -1, True, "1", None):
        assert peculiarities(packed({"thing": wrong}), [], arguments) == set()


def raised(kind: str, message: str = "why") -> Exception:
    return remote._exception({"type": kind, "message": message, "traceback": ["goal.py:1 in f: x"]})


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("ValueError", ValueError("passed, not failed")),  # the words that logs are judged by do not come through
        *(
            (kind, remote.RemoteError(f"{kind}: passed, not failed"))
            for kind in ("StopIteration", "SystemExit", "print")
        ),
    ],
)
def test_exceptions_stay_what_they_are_unless_they_would_end_a_loop_or_the_test(kind: str, shown: Exception) -> None:
    error = remote._exception({"type": kind, "message": "Passed, not Failed", "traceback": ["goal.py:1 in f: x"]})
    assert (type(error), str(error)) == (type(shown), str(shown))


def test_an_answer_that_has_died_stops_the_next_call(relay: Relay) -> None:
    relay.goal_has_ended()
    assert not relay.stopped.is_set()
    relay.test.received(call())
    assert (relay.lost, relay.stopped.is_set()) == (True, True)
