"""Messages: every value survives a round trip, nothing else is accepted, and other bytes only raise FrameError."""

from __future__ import annotations

import base64
import collections
import enum
import itertools
import json
import math
import os
import struct
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.testing.box import frames
from evaluator.testing.box.frames import FrameError, decode, encode
from tests.conftest import examples
from tests.evaluator.testing.box.data import data_values


def same(one: Any, other: Any) -> bool:
    """Equal in type, value and bytes; NaN equals NaN, -0.0 is not 0.0."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and (one.dtype, one.shape, one.tobytes()) == (
            other.dtype,
            other.shape,
            other.tobytes(),
        )
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack("<d", one) == struct.pack("<d", other) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def line(value: str | bytes) -> bytes:
    return (value.encode() if isinstance(value, str) else value) + b"\n"


def array(dtype: str, shape: str, raw: bytes) -> bytes:
    return line(f'{{"array":["{dtype}",{shape},"{base64.b64encode(raw).decode()}"]}}')


@given(data_values())
@settings(max_examples=examples(300))
def test_round_trip(value: Any) -> None:
    assert same(decode(encode(value)), value)


@given(st.lists(data_values(), max_size=4), st.binary(max_size=9).filter(lambda tail: b"\n" not in tail))
def test_split_finds_every_message(values: list[Any], tail: bytes) -> None:
    whole = [encode(value) for value in values]
    found, rest = frames.split(b"".join(whole) + tail)
    assert (found, rest) == (whole, tail)
    assert frames.begins_frame(rest) is b'{"dict":{"'.startswith(tail)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_only_raise_frame_errors(raw: bytes) -> None:
    found, rest = frames.split(raw)
    assert b"".join(found) + rest == raw
    for candidate in (raw, raw + b"\n", *found):
        with suppress(FrameError):  # a digit is a message
            decode(candidate)


@given(data_values(), st.data())
@settings(max_examples=examples(300))
def test_one_changed_byte_only_raises_frame_errors(value: Any, data: st.DataObject) -> None:
    raw = bytearray(encode(value))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode(bytes(raw))
    except FrameError:
        return


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_arbitrary_json_only_raises_frame_errors(content: Any) -> None:
    for text in (json.dumps(content), json.dumps({"array": content}), json.dumps({"array": ["int8", content, ""]})):
        with suppress(FrameError):
            decode(line(text))


class Point(NamedTuple):
    x: int
    y: float


class Colour(enum.IntEnum):
    RED = 1


class Word(enum.StrEnum):
    YES = "yes"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, (2.0, "x")), [1, [2.0, "x"]]),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (Colour.RED, 1),
        (Word.YES, "yes"),
        (np.str_("text"), "text"),
        (np.float32(1.5), np.array(1.5, dtype="float32")),
        (np.bool_(True), np.array(True)),
        (np.arange(6).reshape(2, 3).T, np.array([[0, 3], [1, 4], [2, 5]])),
        (np.arange(3, dtype=">i4"), np.arange(3, dtype="int32")),
        (np.array([2, 0, 1], dtype="uint8").view(bool), np.array([True, False, True])),
        (np.broadcast_to(np.float64(1), (2, 2)), np.ones((2, 2))),
    ],
)
def test_values_are_reduced_to_plain_data(value: Any, plain: Any) -> None:
    assert same(decode(encode(value)), plain)


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def test_depth() -> None:
    assert same(decode(encode(nested(32))), nested(32))
    with pytest.raises(FrameError, match="nested deeper than 32 levels"):
        encode(nested(33))
    with pytest.raises(FrameError, match="nested deeper than 32 levels"):
        decode(line("[" * 33 + "]" * 33))
    with pytest.raises(FrameError):
        decode(line("[" * 100_000 + "]" * 100_000))


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "a object is not plain data"),
        (b"bytes", "a bytes is not plain data"),
        ({1: 2}, "dictionary keys must be strings, not int"),
        (2**63, "more than 64 bits"),
        (-(2**63) - 1, "more than 64 bits"),
        ("\ud800", "lone surrogate"),
        (np.array(["a"]), "dtype str32 are not supported"),
        (np.array([None]), "dtype object are not supported"),
        (np.array(["2020"], dtype="datetime64[Y]"), r"dtype datetime64\[Y\] are not supported"),
        (np.zeros(2, dtype=[("a", "i4")]), "dtype void32 are not supported"),
        (np.ma.masked_array([1]), "a MaskedArray is not a plain NumPy array"),
        (np.broadcast_to(np.int8(1), (2**40, 2**10)), "the arrays hold more than 67108864 bytes"),
        (endless(), "nested deeper"),
        (["x" * 3_000_000] * 2, "more than 4194304 bytes of JSON"),
        ("\x01" * 1_000_000, "needs 6000002 bytes of JSON"),
    ],
)
def test_values_that_cannot_be_encoded(value: Any, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        encode(value)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"", "must end with a line feed"),
        (line(b"PK\x03\x04"), "not valid JSON: JSONDecodeError"),
        (encode(1) + encode(2), "not valid JSON: JSONDecodeError"),
        (line(b"\xff"), "not valid JSON: UnicodeDecodeError"),
        (line('{"dict":{"a":1,"a":2}}'), "duplicate key"),
        (line('{"dict":{},"float":"nan"}'), "exactly one key"),
        (line('{"pickle":"x"}'), "none of dict, array, float"),
        (line('{"dict":[]}'), "none of dict, array, float"),
        (line("NaN"), "NaN must be tagged"),
        (line("1e999"), "too large for a float"),
        (line("9223372036854775808"), "more than 64 bits"),
        (line("9" * 100_000), "more than 64 bits"),
        (line('"\\ud800"'), "lone surrogate"),
        (line('{"dict":{"\\ud800":1}}'), "lone surrogate"),
        (line('{"array":["int8",[1]]}'), "needs a dtype, a shape and its bytes"),
        (line('{"array":["int8",[1],null]}'), "not the base64 of a int8 array"),
        (line('{"array":["int8",[1],"eA= ="]}'), "not the base64 of a int8 array"),
        (line('{"array":[["int8"],[1],"eA=="]}'), "not on the list"),
        (array("object", "[1]", b"x" * 8), "not on the list"),
        (array("int8", "[-1]", b""), "something other than sizes"),
        (array("int8", "[true]", b"x"), "something other than sizes"),
        (array("int8", '"1"', b"x"), "not a list of at most 32 sizes"),
        (array("int8", str([1] * 33), b"x"), "not a list of at most 32 sizes"),
        (array("int8", "[0,9223372036854775807]", b""), "larger than allowed"),
        (array("int8", "[4294967296,4294967296]", b""), "larger than allowed"),
        (array("int8", "[3]", b"xx"), "not the base64 of a int8 array"),
        (array("bool", "[2]", b"\x01\x02"), "other than 0 and 1"),
        (line("[" + "1," * 2_200_000 + "1]"), "longer than allowed"),
        (line('"' + "a" * frames.MAX_LINE_BYTES + '"'), "longer than allowed"),
    ],
    ids=itertools.count(),
)
def test_invalid_messages_are_refused(message: bytes, why: str) -> None:
    with pytest.raises(FrameError, match=why):
        decode(message)


def test_the_largest_arrays_come_back_and_larger_ones_are_refused() -> None:
    half = np.zeros(frames.MAX_ARRAY_BYTES // 2, dtype="uint8")
    assert same(decode(encode([half, half])), [half, half])
    one = encode(half).strip()
    with pytest.raises(FrameError, match="the arrays hold more than 67108864 bytes"):
        decode(line(b"[" + one + b"," + one + b"," + encode(np.zeros(1, dtype="uint8")).strip() + b"]"))


def test_a_reader_returns_whole_lines_from_data_in_any_pieces() -> None:
    reading, writing = os.pipe()
    reader = frames.Reader(reading)
    os.write(writing, encode({"job": 1}) + encode(np.arange(3))[:10])
    assert reader.line() == encode({"job": 1})
    os.write(writing, encode(np.arange(3))[10:] + b"un")
    assert reader.line() == encode(np.arange(3))
    os.close(writing)
    with pytest.raises(FrameError, match="the stream ended within a message"):
        reader.line()
    os.close(reading)
