"""Arguments and results of a goal function in another box: what arrives, and what is refused."""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict, namedtuple
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.testing.box import frames
from evaluator.testing.box.payloads import (
    MAX_DIGITS,
    Packer,
    PayloadError,
    Unpacker,
    same,
)


def named(value: object) -> str:
    """A test's name that is the same in all processes that share the tests: no addresses, no set's order."""
    return type(value).__name__


def sent(value: Any) -> Any:
    """The value on the other side."""
    return Unpacker().unpack(frames.decode(frames.encode(Packer().pack(value))))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        10**30,
        -math.inf,
        1 + 2j,
        "Grüße",
        b"\0\xff",
        (1, (2, "x")),
        frozenset({1, 2}),
        {1, "a", None},
        [1, [2, []]],
        {"a": 1, 2: [3], (1, "x"): None, None: 4.5},
        OrderedDict([("b", 1), ("a", 2)]),
        slice(1, None, 2),
        ...,
        np.dtype("float32"),
    ],
    ids=named,
)
def test_what_python_has(value: Any) -> None:
    found = sent(value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64"])
def test_arrays_and_their_scalars(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    found = sent(array)
    np.testing.assert_array_equal(found, array, strict=True)
    scalar = sent(array[1, 2])
    assert (scalar, type(scalar)) == (array[1, 2], type(array[1, 2]))
    assert found.flags.writeable


def test_data_frames_and_series() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], 3: [0.5, np.nan]}, index=[5, 7])
    pd.testing.assert_frame_equal(sent(frame), frame)
    series = pd.Series([1.5, 2.5], index=["p", "q"], name="s")
    pd.testing.assert_series_equal(sent(series), series)


def test_one_object_stays_one_object_and_circles_close() -> None:
    shared = [1]
    circle: list[Any] = [shared, {"again": shared}]
    circle.append(circle)
    found = sent(circle)
    assert found[0] is found[1]["again"]
    assert found[2] is found


def test_changes_come_back_into_the_objects_that_were_sent() -> None:
    arguments = ([1], {"k": 2}, {3}, np.zeros(2), OrderedDict(a=1), "untouched", [9])
    packer = Packer()
    raw = frames.encode(packer.pack(arguments))
    # The other side.
    there = Unpacker()
    received = there.unpack(frames.decode(raw))
    received[0].append([2])
    received[1]["k"] = received[0]
    received[2].add(4)
    received[3][1] = 5.0
    received[4].clear()
    answer = Packer(there.things)
    payload = answer.pack((received[0], received[3], [7]))
    as_sent: Any = frames.decode(raw)
    changes = answer.changes(as_sent["things"])
    back: Any = frames.decode(frames.encode({"payload": payload, "changes": changes}))
    # And here again.
    here = Unpacker(packer.things)
    result = here.unpack(back["payload"])
    here.restore(back["changes"])
    assert result[0] is arguments[0]
    assert result[1] is arguments[3]
    assert arguments[:3] == ([1, [2]], {"k": [1, [2]]}, {3, 4})
    assert arguments[1]["k"] is arguments[0]
    assert arguments[3].tolist() == [0.0, 5.0]
    assert arguments[4:] == (OrderedDict(), "untouched", [9])
    # The outer tuple is none of the changed things, and neither is what stayed as it was.
    assert len(changes) == 5


Point = namedtuple("Point", "x y")


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [object(), len, Point(1, 2), Text("x"), defaultdict(list), Fraction(1, 2), {Point(1, 2): 1}, [lambda: 1], type],
    ids=named,
)
def test_objects_are_refused(value: Any) -> None:
    with pytest.raises(PayloadError):
        Packer().pack(value)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {"things": [], "root": {"thing": 0}},
        {"things": [], "root": {"thing": True}},
        {"things": [], "root": {"pickle": "x"}},
        {"things": [], "root": {"list": []}},
        {"things": [], "root": {"int": "1" * (MAX_DIGITS + 2)}},
        {"things": [], "root": {"int": 5}},
        {"things": [], "root": {"torch_dtype": "__builtins__"}},
        {"things": [], "root": {"dtype": "no such dtype"}},
        {"things": [{"array": [1]}], "root": None},
        {"things": [{"module": "os"}], "root": None},
        {"things": [{"dict": [[{"thing": 0}, 1]]}], "root": None},
        {"things": [{}], "root": None},
        {"things": [], "root": None, "more": 1},
    ],
    ids=range(14),
)
def test_forged_payloads_are_refused(payload: Any) -> None:
    with pytest.raises(PayloadError):
        Unpacker().unpack(payload)


_leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
_plain = st.recursive(
    _leaves | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=15,
)


@given(_plain)
def test_any_plain_value_arrives(value: Any) -> None:
    try:
        found = sent(value)
    except (PayloadError, frames.FrameError):
        return  # deeper or larger than allowed
    assert same(Packer().pack(found)["root"], Packer().pack(value)["root"])
    assert found == value


def test_forged_changes_are_refused() -> None:
    for changes in ([[0, {"list": [1]}]], [["x", 1]], [1], [[0, {"array": 1}]]):
        with pytest.raises(PayloadError):
            Unpacker([np.zeros(2)]).restore(changes)  # type: ignore[arg-type]
