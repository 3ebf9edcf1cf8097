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


def of(value: object) -> set[str]:
    return peculiarities(Packer().pack(value), [], [])


def packed(root: object, *things: object) -> dict[str, Any]:
    return {"things": list(things), "root": root}


@pytest.mark.parametrize(
    "value", [1.5, -1, True, None, "text", [1, "", None], np.ones(2), {"a": (1, range(2))}, np.array(np.inf), b"\x00"]
)
def test_ordinary_results_are_not_peculiar(value: object) -> None:
    assert of(value) == set()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (range(0), EMPTY),
        ([range(3, 1)], EMPTY),
        ("", EMPTY),
        (b"", EMPTY),
        ([{}], EMPTY),
        (complex(0, float("nan")), NAN),
        ("Test Passed", WORDS),
        ({"Passed": 1}, WORDS),
        ([b"1 Failed"], WORDS),
    ],
)
def test_what_fools_a_comparison_is_found(value: object, kind: str) -> None:
    assert of(value) == {kind}


@pytest.mark.parametrize(
    ("root", "kinds"),
    [
        (np.ones(2), set()),
        ({"size": []}, {EMPTY}),
        ({"size": [2]}, set()),
        ({"range": [1, 2, 0]}, set()),
        ({"range": 3}, set()),
    ],
)
def test_forms_that_only_pytorch_or_a_forger_writes(root: object, kinds: set[str]) -> None:
    assert peculiarities(packed(root), [], []) == kinds


def test_a_data_frame_without_columns_is_empty() -> None:
    frame = {"frame": [[], {"column": np.arange(3)}]}
    assert peculiarities(packed({"thing": 0}, frame), [], []) == {EMPTY}


@pytest.mark.parametrize(
    ("bits", "kinds"),
    [(0x7FC0, {NAN}), (0xFFC1, {NAN}), (0x7F81, {NAN}), (0x7F80, set()), (0x3F80, set()), (0xFF80, set())],
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


def test_changes_of_arguments_are_looked_at() -> None:
    assert peculiarities(packed(1), [[0, {"array": np.array([np.nan])}]], []) == {NAN}


def raised(kind: str, message: str = "why") -> Exception:
    return remote._exception({"type": kind, "message": message, "traceback": ["goal.py:1 in f: x"]})


@pytest.mark.parametrize("kind", [ValueError, AssertionError, KeyError])
def test_exceptions_of_python_stay_what_they_are(kind: type[Exception]) -> None:
    assert type(raised(kind.__name__)) is kind


@pytest.mark.parametrize("kind", ["StopIteration", "StopAsyncIteration", "SystemExit", "SkipTest", "print", "__doc__"])
def test_what_would_end_a_loop_or_the_test_is_only_named(kind: str) -> None:
    error = raised(kind)
    assert (type(error), str(error)) == (remote.RemoteError, f"{kind}: why")


def test_a_loop_over_a_goal_that_stops_early_does_not_end_well() -> None:
    def goal(_: int) -> int:
        raise raised("StopIteration")

    with pytest.raises(remote.RemoteError):
        list(map(goal, [1, 2]))


def test_the_words_that_logs_are_judged_by_do_not_come_through() -> None:
    assert str(raised("ValueError", "Passed, not Failed")) == "passed, not failed"
