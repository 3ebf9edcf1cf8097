"""Encode plain data as JSON lines, the messages between a box and the outside in both directions. Never pickle.

A message is one line of strict JSON. ``null``, booleans, integers, finite floats, strings and lists represent
themselves; every JSON object has exactly one key, its type: ``{"dict": {…}}``, ``{"float": "nan" | "inf" | "-inf"}`` or
``{"array": [dtype, shape, base64]}`` with the raw bytes, little-endian and C-ordered.

Tuples become lists. NumPy scalars become 0-dimensional arrays, so that their dtype is preserved; comparison treats both
as scalars of that kind. Subclasses of int, float, str, list, tuple and dict are reduced to their base.

This file runs on the host and, alone, inside boxes: Python 3.9 or newer, standard library and NumPy.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evaluator.testing.verdicts import Data

MAX_JSON_BYTES = 4 * 1024 * 1024
"""Limit of a line's length without its arrays' bytes."""
MAX_ARRAY_BYTES = 64 * 1024 * 1024
"""Limit of the total bytes of a message's arrays."""
MAX_LINE_BYTES = 2 * MAX_JSON_BYTES + MAX_ARRAY_BYTES * 4 // 3
MAX_DEPTH = 32
MAX_DIMENSIONS = 32
SMALLEST_INTEGER = -(2**63)
LARGEST_INTEGER = 2**63 - 1

_DTYPES = {
    "bool": "|b1",
    "int8": "|i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
    "uint8": "|u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "float16": "<f2",
    "float32": "<f4",
    "float64": "<f8",
    "complex64": "<c8",
    "complex128": "<c16",
}
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_BASE64 = re.compile(rb'"[A-Za-z0-9+/]*={0,2}"')


class FrameError(ValueError):
    """The bytes are not a valid message, or the value is not data that a message may carry."""


def encode(value: object) -> bytes:
    """Return ``value`` as one line.

    Raises :class:`FrameError` for anything that is not bounded plain data: objects, integers beyond 64 bits, dtypes
    off the list, lone surrogates, keys that are not strings, nesting deeper than ``MAX_DEPTH``, or too many bytes.
    """
    encoder = _Encoder()
    tree = encoder.node(value, MAX_DEPTH)
    line = json.dumps(tree, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    json_bytes = len(line) - encoder.base64_bytes
    if json_bytes > MAX_JSON_BYTES:
        raise FrameError(f"the data needs {json_bytes} bytes of JSON, at most {MAX_JSON_BYTES} are allowed")
    return line + b"\n"


def decode(line: bytes) -> Data:
    """Return the value of exactly one line, in fresh writable arrays of native byte order.

    Raises :class:`FrameError` for every deviation from the format.
    """
    if not line.endswith(b"\n"):
        raise FrameError("a message must end with a line feed")
    # Checked before parsing: nested JSON needs many times its length in memory, base64 does not.
    if len(line) > MAX_LINE_BYTES or (len(line) > MAX_JSON_BYTES and len(_BASE64.sub(b'""', line)) > MAX_JSON_BYTES):
        raise FrameError("the message is longer than allowed")
    try:
        tree = json.loads(
            line.decode("utf-8"),
            object_pairs_hook=_unique_keys,
            parse_float=_finite_float,
            parse_int=_short_integer,
            parse_constant=_refuse_constant,
        )
    except FrameError:
        raise
    except (ValueError, RecursionError) as error:
        raise FrameError(f"the message is not valid JSON: {type(error).__name__}") from error
    return _Decoder().node(tree, MAX_DEPTH)


def split(stream: bytes) -> tuple[list[bytes], bytes]:
    """Split ``stream`` into its complete lines and the rest, without parsing them."""
    *lines, rest = stream.split(b"\n")
    return [line + b"\n" for line in lines], rest


def begins_frame(rest: bytes) -> bool:
    """Return whether ``rest``, which may be empty, could be the beginning of a message with fields."""
    return len(rest) <= MAX_LINE_BYTES and rest[:9] == b'{"dict":{'[: len(rest)]


class Reader:
    """Reads messages from a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = bytearray()

    def line(self) -> bytes | None:
        """Return the next raw line, or None at the end. Raises :class:`FrameError` when the end comes too early."""
        searched = 0
        while True:
            end = self._rest.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._rest[: end + 1])
                del self._rest[: end + 1]
                return line
            searched = len(self._rest)
            piece = os.read(self._descriptor, 1024 * 1024)
            if not piece:
                break
            self._rest += piece
            if searched > MAX_LINE_BYTES:
                raise FrameError("the message is longer than allowed")
        if self._rest:
            raise FrameError("the stream ended within a message")
        return None


class _Encoder:
    """Builds the JSON tree; checks size limits before anything large is copied."""

    def __init__(self) -> None:
        self.base64_bytes = 0
        self._array_budget = MAX_ARRAY_BYTES
        self._json_budget = MAX_JSON_BYTES

    def node(self, value: object, depth: int) -> object:
        self._spend(2)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, (np.generic, np.ndarray)):
            return {"array": self._array(value)}
        if isinstance(value, int):
            return _bounded_integer(int.__index__(value))
        if isinstance(value, float):
            number = float.__float__(value)
            return number if math.isfinite(number) else {"float": repr(number)}
        depth = _one_deeper(depth)
        if isinstance(value, (list, tuple)):
            base: Any = list if isinstance(value, list) else tuple
            return [self.node(item, depth) for item in base.__iter__(value)]
        if isinstance(value, dict):
            return {"dict": {self._key(key): self.node(item, depth) for key, item in dict.items(value)}}
        raise FrameError(f"a {type(value).__name__} is not plain data (None, bool, int, float, str, list, dict, array)")

    def _array(self, value: np.generic | np.ndarray[Any, Any]) -> list[object]:
        if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
            raise FrameError(f"a {type(value).__name__} is not a plain NumPy array")
        name = value.dtype.name
        if name not in _DTYPES:
            raise FrameError(f"arrays of dtype {name} are not supported, only {', '.join(_DTYPES)}")
        if value.ndim > MAX_DIMENSIONS:
            raise FrameError(f"an array has {value.ndim} dimensions, at most {MAX_DIMENSIONS} are allowed")
        self._array_budget -= value.size * value.dtype.itemsize
        if self._array_budget < 0:
            raise FrameError(f"the arrays hold more than {MAX_ARRAY_BYTES} bytes")
        self._spend(8 * value.ndim)
        # A bool array made from a view may hold bytes other than 0 and 1, which decoding refuses.
        plain = np.not_equal(value.view(np.uint8), 0) if name == "bool" else value
        text = base64.b64encode(np.asarray(plain, dtype=_DTYPES[name]).tobytes("C")).decode("ascii")
        self.base64_bytes += len(text)
        return [name, list(value.shape), text]

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise FrameError(f"dictionary keys must be strings, not {type(key).__name__}")
        return self._string(key)

    def _string(self, value: str) -> str:
        self._spend(str.__len__(value))
        plain = str.__str__(value)
        _refuse_surrogates(plain)
        return plain

    def _spend(self, size: int) -> None:
        self._json_budget -= size
        if self._json_budget < 0:
            raise FrameError(f"the data needs more than {MAX_JSON_BYTES} bytes of JSON")


class _Decoder:
    """Rebuilds the value from parsed JSON."""

    def __init__(self) -> None:
        self._array_budget = MAX_ARRAY_BYTES

    def node(self, tree: object, depth: int) -> Data:
        if tree is None or isinstance(tree, (bool, float, int)):
            return tree
        if isinstance(tree, str):
            _refuse_surrogates(tree)
            return tree
        if isinstance(tree, list):
            depth = _one_deeper(depth)
            return [self.node(item, depth) for item in tree]
        if not isinstance(tree, dict) or len(tree) != 1:
            raise FrameError("an object must have exactly one key")
        ((tag, content),) = tree.items()
        if tag == "array":
            return self._array(content)
        if tag == "float" and isinstance(content, str) and content in _NOT_FINITE:
            return _NOT_FINITE[content]
        if tag != "dict" or not isinstance(content, dict):
            raise FrameError("an object is none of dict, array, float")
        for key in content:
            _refuse_surrogates(key)
        depth = _one_deeper(depth)
        return {key: self.node(item, depth) for key, item in content.items()}

    def _array(self, content: object) -> Data:
        if not isinstance(content, list) or len(content) != 3:
            raise FrameError("an array needs a dtype, a shape and its bytes")
        name, shape, text = content
        if not isinstance(name, str) or name not in _DTYPES:
            raise FrameError("an array's dtype is not on the list")
        if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
            raise FrameError(f"an array's shape is not a list of at most {MAX_DIMENSIONS} sizes")
        if not all(type(size) is int and size >= 0 for size in shape):
            raise FrameError("an array's shape holds something other than sizes")
        # NumPy multiplies the non-zero sizes even if another one is 0, and would overflow.
        if math.prod(size for size in shape if size) > MAX_ARRAY_BYTES:
            raise FrameError("an array's shape is larger than allowed")
        try:
            raw = base64.b64decode(text, validate=True) if isinstance(text, str) else None
        except ValueError:
            raw = None
        dtype = np.dtype(_DTYPES[name])
        if raw is None or len(raw) != math.prod(shape) * dtype.itemsize:
            raise FrameError(f"an array's bytes are not the base64 of a {name} array of shape {tuple(shape)}")
        self._array_budget -= len(raw)
        if self._array_budget < 0:
            raise FrameError(f"the arrays hold more than {MAX_ARRAY_BYTES} bytes")
        if name == "bool" and raw.translate(None, b"\x00\x01"):
            raise FrameError("a bool array holds bytes other than 0 and 1")
        return np.frombuffer(raw, dtype=dtype).astype(dtype.newbyteorder("="), copy=True).reshape(shape)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise FrameError("the message has a duplicate key")
    return result


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise FrameError("a number of the message is too large for a float")
    return number


def _short_integer(text: str) -> int:
    # Checked before int(): converting very long digit strings takes quadratic time.
    if len(text) > len(str(SMALLEST_INTEGER)):
        raise FrameError("an integer has more than 64 bits")
    return _bounded_integer(int(text))


def _refuse_constant(text: str) -> float:
    raise FrameError(f"{text} must be tagged")


def _one_deeper(left: int) -> int:
    if left <= 0:
        raise FrameError(f"the data is nested deeper than {MAX_DEPTH} levels")
    return left - 1


def _bounded_integer(number: int) -> int:
    if not SMALLEST_INTEGER <= number <= LARGEST_INTEGER:
        raise FrameError("an integer has more than 64 bits")
    return number


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FrameError("a string holds a lone surrogate") from error
