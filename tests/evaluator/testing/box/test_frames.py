"""Frames: every value comes back, nothing else gets in, and foreign bytes only ever raise FrameError."""

from __future__ import annotations

import collections
import enum
import json
import math
import struct
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.testing.box import frames
from evaluator.testing.box.frames import FrameError, decode, encode
from tests.evaluator.testing.box.data import DTYPES, data_values


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


def raw_frame(header: str | bytes, body: bytes = b"", *, body_bytes: int | None = None) -> bytes:
    raw = header.encode() if isinstance(header, str) else header
    return struct.pack("<4sIQ", b"LMRF", len(raw), len(body) if body_bytes is None else body_bytes) + raw + body


def value_frame(value: str) -> bytes:
    return raw_frame(f'{{"arrays":[],"value":{value}}}')


def array_frame(dtype: str, shape: str, body: bytes) -> bytes:
    return raw_frame(f'{{"arrays":[["{dtype}",{shape}]],"value":{{"array":0}}}}', body)


@given(data_values())
@settings(max_examples=300)
def test_round_trip(value: Any) -> None:
    assert same(decode(encode(value)), value)


@given(st.lists(data_values(), max_size=4), st.binary(max_size=3))
def test_split_finds_every_frame(values: list[Any], tail: bytes) -> None:
    whole = [encode(value) for value in values]
    found, rest = frames.split(b"".join(whole) + tail)
    assert (found, rest) == (whole, tail)
    assert frames.begins_frame(rest) is b"LMRF".startswith(tail)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_only_raise_frame_errors(raw: bytes) -> None:
    found, rest = frames.split(raw)
    assert b"".join(found) + rest == raw
    for candidate in (raw, raw_frame(raw), *found):
        with pytest.raises(FrameError):
            decode(candidate)


@given(data_values(), st.data())
@settings(max_examples=300)
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
def test_arbitrary_json_headers_only_raise_frame_errors(header: Any) -> None:
    for text in (json.dumps(header), json.dumps({"arrays": header, "value": {"array": 0}})):
        with pytest.raises(FrameError):
            decode(raw_frame(text))
    try:
        decode(raw_frame(json.dumps({"arrays": [], "value": header})))
    except FrameError:
        return


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
        (Point(1, 2.0), [1, 2.0]),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (Colour.RED, 1),
        (Word.YES, "yes"),
        (np.str_("text"), "text"),
        (np.float64(1.5), np.array(1.5)),
        (np.float32(1.5), np.array(1.5, dtype="float32")),
        (np.bool_(True), np.array(True)),
        (np.arange(6).reshape(2, 3).T, np.array([[0, 3], [1, 4], [2, 5]])),
        (np.arange(3, dtype=">i4"), np.arange(3, dtype="int32")),
        (np.array([2, 0, 1], dtype="uint8").view(bool), np.array([True, False, True])),
        (np.broadcast_to(np.float64(1), (2, 2)), np.ones((2, 2))),
    ],
)
def test_what_is_reduced_to_plain_data(value: Any, plain: Any) -> None:
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
        decode(value_frame("[" * 33 + "]" * 33))
    with pytest.raises(FrameError):
        decode(value_frame("[" * 100_000 + "]" * 100_000))


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "a object is not plain data"),
        (b"bytes", "a bytes is not plain data"),
        ({1, 2}, "a set is not plain data"),
        (1j, "a complex is not plain data"),
        ({1: 2}, "dictionary keys must be strings, not int"),
        (2**63, "more than 64 bits"),
        (-(2**63) - 1, "more than 64 bits"),
        ("\ud800", "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        (np.array(["a"]), "dtype str32 are not supported"),
        (np.array([None]), "dtype object are not supported"),
        (np.array(["2020"], dtype="datetime64[Y]"), r"dtype datetime64\[Y\] are not supported"),
        (np.longdouble(1), "are not supported"),
        (np.zeros(2, dtype=[("a", "i4")]), "dtype void32 are not supported"),
        (np.ma.masked_array([1]), "a MaskedArray is not a plain NumPy array"),
        (np.broadcast_to(np.int8(1), (2**40, 2**10)), "the arrays hold more than 67108864 bytes"),
        (endless(), "nested deeper"),
        (["x" * 3_000_000] * 2, "more than 4194304 bytes of JSON"),
        ("\x01" * 1_000_000, "needs 6000024 bytes of JSON"),
    ],
)
def test_what_cannot_be_encoded(value: Any, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        encode(value)


def test_wide_sharing_is_refused_before_it_costs_anything() -> None:
    value: Any = [1]
    for _ in range(20):
        value = [value] * 10
    with pytest.raises(FrameError, match="bytes of JSON"):
        encode(value)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"", "unknown"),
        (b"PK\x03\x04", "do not begin a frame"),
        (encode(1)[:-1], "was announced"),
        (encode(1) + b"x", "was announced"),
        (encode(1) + encode(2), "was announced"),
        (raw_frame("null", body_bytes=2**63), "larger than allowed"),
        (struct.pack("<4sIQ", b"LMRF", 2**31, 0), "larger than allowed"),
        (raw_frame("{"), "not valid JSON: JSONDecodeError"),
        (raw_frame(b"\xff"), "not valid JSON: UnicodeDecodeError"),
        (raw_frame("[]"), "must have the keys"),
        (raw_frame('{"arrays":[],"value":1,"more":1}'), "must have the keys"),
        (raw_frame('{"arrays":[],"arrays":[],"value":1}'), "duplicate key"),
        (raw_frame('{"arrays":{},"value":1}'), "must have|list is no list"),
        (value_frame('{"dict":{"a":1,"a":2}}'), "duplicate key"),
        (value_frame('{"dict":{},"float":"nan"}'), "exactly one key"),
        (value_frame("{}"), "exactly one key"),
        (value_frame('{"pickle":"x"}'), "none of dict, array, float"),
        (value_frame('{"dict":[]}'), "none of dict, array, float"),
        (value_frame('{"float":"NaN"}'), "none of dict, array, float"),
        (value_frame('{"float":[]}'), "none of dict, array, float"),
        (value_frame("NaN"), "NaN must be tagged"),
        (value_frame("-Infinity"), "-Infinity must be tagged"),
        (value_frame("1e999"), "too large for a float"),
        (value_frame("9223372036854775808"), "more than 64 bits"),
        (value_frame("9" * 100_000), "more than 64 bits"),
        (value_frame('"\\ud800"'), "lone surrogate"),
        (value_frame('{"dict":{"\\ud800":1}}'), "lone surrogate"),
        (value_frame('{"array":0}'), "once and in order"),
        (value_frame('{"array":-1}'), "once and in order"),
        (value_frame('{"array":[]}'), "once and in order"),
        (raw_frame('{"arrays":[["int8",[1]]],"value":{"array":false}}', b"x"), "once and in order"),
        (raw_frame('{"arrays":[["int8",[1]]],"value":{"array":0.0}}', b"x"), "once and in order"),
        (raw_frame('{"arrays":[["int8",[1]]],"value":[{"array":0},{"array":0}]}', b"x"), "once and in order"),
        (raw_frame('{"arrays":[["int8",[1]]],"value":1}', b"x"), "does not use"),
        (raw_frame('{"arrays":[],"value":1}', b"x"), "does not use"),
        (raw_frame('{"arrays":[["int8"]],"value":{"array":0}}'), "needs a dtype and a shape"),
        (array_frame("object", "[1]", b"x" * 8), "not on the list"),
        (array_frame("str32", "[1]", b"x" * 4), "not on the list"),
        (raw_frame('{"arrays":[[["int8"],[1]]],"value":{"array":0}}', b"x"), "not on the list"),
        (array_frame("int8", "[-1]", b""), "something else than sizes"),
        (array_frame("int8", "[true]", b"x"), "something else than sizes"),
        (array_frame("int8", "[1.0]", b"x"), "something else than sizes"),
        (array_frame("int8", '"1"', b"x"), "no list of at most 32 sizes"),
        (array_frame("int8", str([1] * 33), b"x"), "no list of at most 32 sizes"),
        (array_frame("int8", "[0,9223372036854775807]", b""), "larger than allowed"),
        (array_frame("int8", "[4294967296,4294967296]", b""), "larger than allowed"),
        (array_frame("int8", "[3]", b"xx"), "too short"),
        (array_frame("int8", "[1]", b"xx"), "does not use"),
        (array_frame("bool", "[2]", b"\x01\x02"), "other than 0 and 1"),
    ],
)
def test_what_is_no_frame(frame: bytes, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        decode(frame)


@pytest.mark.parametrize("dtype", DTYPES)
def test_decoded_arrays_are_writable_and_their_own(dtype: str) -> None:
    raw = encode(np.ones((2, 2), dtype=dtype))
    one, other = decode(raw), decode(raw)
    assert isinstance(one, np.ndarray)
    assert isinstance(other, np.ndarray)
    one[0, 0] = 0
    assert one.dtype == np.dtype(dtype)
    assert other[0, 0] == 1


def test_split_keeps_an_unfinished_frame_apart_from_garbage() -> None:
    one = encode({"a": 1})
    assert frames.split(one + one[:-3]) == ([one], one[:-3])
    assert frames.begins_frame(one[:-3])
    assert frames.split(one + b"no frame at all") == ([one], b"no frame at all")
    assert not frames.begins_frame(b"no frame at all")
    huge = struct.pack("<4sIQ", b"LMRF", 2, 2**40)
    assert frames.split(one + huge) == ([one], huge)
    assert not frames.begins_frame(huge)
