"""Data-only frames: how plain data crosses a box's wall, in both directions. Never pickle.

A frame is ``magic (4 bytes) | header length (u32) | body length (u64) | header | body``, all little-endian. The header
is strict JSON ``{"arrays": [[dtype, shape], …], "value": tree}``; the body holds the arrays' raw bytes, little-endian
and C-ordered, one after the other in the order in which the tree names them. In the tree ``null``, booleans, integers,
finite floats, strings and lists stand for themselves; every JSON object has exactly one key, which says what it is:
``{"dict": {…}}``, ``{"array": n}`` or ``{"float": "nan" | "inf" | "-inf"}``.

Tuples become lists. NumPy scalars become 0-dimensional arrays, so that their dtype survives; comparison treats both as
scalars of that kind. Subclasses of int, float, str, list, tuple and dict are reduced to their base.

This file runs on the host and, alone, inside boxes: Python 3.9 or newer, standard library and NumPy.
"""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.testing.types import Data

MAGIC = b"LMRF"
MAX_HEADER_BYTES = 4 * 1024 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 32
MAX_DIMENSIONS = 32
SMALLEST_INTEGER = -(2**63)
LARGEST_INTEGER = 2**63 - 1

_PREFIX = struct.Struct("<4sIQ")
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


class FrameError(ValueError):
    """The bytes are no valid frame, or the value is not data that a frame may carry."""


def encode(value: object) -> bytes:
    """Return ``value`` as one frame.

    Raises :class:`FrameError` for anything that is not bounded plain data: objects, integers beyond 64 bits, dtypes
    off the list, lone surrogates, keys that are no strings, nesting deeper than ``MAX_DEPTH``, or too many bytes.
    """
    encoder = _Encoder()
    tree = encoder.node(value, depth=0)
    text = json.dumps(
        {"arrays": encoder.arrays, "value": tree}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    header = text.encode("utf-8")
    if len(header) > MAX_HEADER_BYTES:
        raise FrameError(f"the data needs {len(header)} bytes of JSON, at most {MAX_HEADER_BYTES} are allowed")
    return b"".join([_PREFIX.pack(MAGIC, len(header), encoder.body_bytes), header, *encoder.chunks])


def decode(frame: bytes) -> Data:
    """Return the value of exactly one frame, in fresh writable arrays of native byte order.

    Raises :class:`FrameError` for every deviation from the format, trailing bytes included.
    """
    size = frame_size(frame)
    if size is None or size != len(frame):
        raise FrameError(f"a frame of {size or 'unknown'} bytes was announced, {len(frame)} bytes are there")
    _, header_bytes, _ = _PREFIX.unpack_from(frame)
    header = _parse_header(frame[_PREFIX.size : _PREFIX.size + header_bytes])
    return _Decoder(header["arrays"], frame[_PREFIX.size + header_bytes :]).whole(header["value"])


def split(stream: bytes) -> tuple[list[bytes], bytes]:
    """Cut ``stream`` into its whole frames and the rest, see :func:`begins_frame`. Contents are not looked into."""
    frames: list[bytes] = []
    position = 0
    while position < len(stream):
        beginning = stream[position : position + _PREFIX.size]
        size = frame_size(beginning) if begins_frame(beginning) else None
        if size is None or position + size > len(stream):
            break
        frames.append(stream[position : position + size])
        position += size
    return frames, stream[position:]


def read_frame(read: Callable[[int], bytes]) -> bytes | None:
    """The next whole frame of a stream, or None at its end; not a byte more is taken from it.

    ``read(n)`` returns 1 to ``n`` bytes, or none at the end. Raises :class:`FrameError` when the end comes too early.
    """
    beginning = _read_exactly(read, _PREFIX.size)
    if not beginning:
        return None
    size = frame_size(beginning)
    rest = _read_exactly(read, size - len(beginning)) if size is not None else b""
    if size is None or len(beginning) + len(rest) != size:
        raise FrameError("the stream ended within a frame")
    return beginning + rest


def _read_exactly(read: Callable[[int], bytes], count: int) -> bytes:
    """``count`` bytes, or fewer when the stream ends."""
    pieces = bytearray()
    while len(pieces) < count:
        piece = read(min(count - len(pieces), 1024 * 1024))
        if not piece:
            break
        pieces += piece
    return bytes(pieces)


def begins_frame(rest: bytes) -> bool:
    """Whether more bytes could make these, which may be none, the beginning of a frame."""
    try:
        frame_size(rest)
    except FrameError:
        return False
    return True


def frame_size(beginning: bytes) -> int | None:
    """The announced size of the frame in bytes, or None while its prefix is not complete.

    Raises :class:`FrameError` for bytes that begin no frame, or one that is larger than allowed.
    """
    if not MAGIC.startswith(beginning[: len(MAGIC)]):
        raise FrameError("these bytes do not begin a frame")
    if len(beginning) < _PREFIX.size:
        return None
    _, header_bytes, body_bytes = _PREFIX.unpack_from(beginning)
    if header_bytes > MAX_HEADER_BYTES or body_bytes > MAX_BODY_BYTES:
        raise FrameError(f"a frame with {header_bytes} + {body_bytes} bytes is larger than allowed")
    return int(_PREFIX.size + header_bytes + body_bytes)


class _Encoder:
    """Builds the JSON tree and collects the arrays, within the size limits before anything large is copied."""

    def __init__(self) -> None:
        self.arrays: list[list[object]] = []
        self.chunks: list[bytes] = []
        self.body_bytes = 0
        self._json_budget = MAX_HEADER_BYTES

    def node(self, value: object, *, depth: int) -> object:
        self._spend(2)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (np.generic, np.ndarray)):
            return self._numpy(value)
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, int):
            return _bounded_integer(int.__index__(value))
        if isinstance(value, float):
            number = float.__float__(value)
            return number if math.isfinite(number) else {"float": repr(number)}
        return self._container(value, depth=_one_deeper(depth))

    def _container(self, value: object, *, depth: int) -> object:
        if isinstance(value, (list, tuple)):
            base: Any = list if isinstance(value, list) else tuple
            return [self.node(item, depth=depth) for item in base.__iter__(value)]
        if isinstance(value, dict):
            return {"dict": {self._key(key): self.node(item, depth=depth) for key, item in dict.items(value)}}
        raise FrameError(f"a {type(value).__name__} is not plain data (None, bool, int, float, str, list, dict, array)")

    def _numpy(self, value: np.generic | np.ndarray[Any, Any]) -> object:
        if isinstance(value, np.str_):
            return self._string(value)
        if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
            raise FrameError(f"a {type(value).__name__} is not a plain NumPy array")
        name = value.dtype.name
        if name not in _DTYPES:
            raise FrameError(f"arrays of dtype {name} are not supported, only {', '.join(_DTYPES)}")
        if value.ndim > MAX_DIMENSIONS:
            raise FrameError(f"an array has {value.ndim} dimensions, at most {MAX_DIMENSIONS} are allowed")
        self.body_bytes += value.size * value.dtype.itemsize
        if self.body_bytes > MAX_BODY_BYTES:
            raise FrameError(f"the arrays hold more than {MAX_BODY_BYTES} bytes")
        self._spend(8 * value.ndim)
        # A view may have left other bytes than 0 and 1 in a bool array, which decoding refuses.
        plain = np.not_equal(value.view(np.uint8), 0) if name == "bool" else value
        self.chunks.append(np.asarray(plain, dtype=_DTYPES[name]).tobytes("C"))
        self.arrays.append([name, list(value.shape)])
        return {"array": len(self.arrays) - 1}

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
            raise FrameError(f"the data needs more than {MAX_HEADER_BYTES} bytes of JSON")


class _Decoder:
    """Rebuilds the value from a parsed header; every array must be named once and in order."""

    def __init__(self, arrays: object, body: bytes) -> None:
        if not isinstance(arrays, list):
            raise FrameError("the header's array list is no list")
        self._arrays = arrays
        self._body = body
        self._used = 0
        self._position = 0

    def whole(self, tree: object) -> Data:
        value = self._node(tree, depth=0)
        if self._used != len(self._arrays) or self._position != len(self._body):
            raise FrameError("the frame holds arrays or bytes that its value does not use")
        return value

    def _node(self, tree: object, *, depth: int) -> Data:
        if tree is None or isinstance(tree, (bool, float)):
            return tree
        if isinstance(tree, int):
            return _bounded_integer(tree)
        if isinstance(tree, str):
            _refuse_surrogates(tree)
            return tree
        if isinstance(tree, list):
            depth = _one_deeper(depth)
            return [self._node(item, depth=depth) for item in tree]
        return self._tagged(tree, depth=depth)

    def _tagged(self, tree: object, *, depth: int) -> Data:
        if not isinstance(tree, dict) or len(tree) != 1:
            raise FrameError("an object of the header must have exactly one key")
        ((tag, content),) = tree.items()
        if tag == "array":
            return self._array(content)
        if tag == "float" and isinstance(content, str) and content in _NOT_FINITE:
            return _NOT_FINITE[content]
        if tag != "dict" or not isinstance(content, dict):
            raise FrameError("an object of the header is none of dict, array, float")
        for key in content:
            _refuse_surrogates(key)
        depth = _one_deeper(depth)
        return {key: self._node(item, depth=depth) for key, item in content.items()}

    def _array(self, number: object) -> Data:
        if type(number) is not int or number != self._used or self._used >= len(self._arrays):
            raise FrameError("the value does not name the frame's arrays once and in order")
        name, shape = _array_layout(self._arrays[self._used])
        dtype = np.dtype(_DTYPES[name])
        count = math.prod(shape)
        raw = self._body[self._position : self._position + count * dtype.itemsize]
        if len(raw) != count * dtype.itemsize:
            raise FrameError(f"the frame's body is too short for a {name} array of shape {tuple(shape)}")
        if name == "bool" and raw.translate(None, b"\x00\x01"):
            raise FrameError("a bool array holds bytes other than 0 and 1")
        self._used += 1
        self._position += len(raw)
        return np.frombuffer(raw, dtype=dtype).astype(dtype.newbyteorder("="), copy=True).reshape(shape)


def _array_layout(layout: object) -> tuple[str, list[int]]:
    if not isinstance(layout, list) or len(layout) != 2:
        raise FrameError("an array needs a dtype and a shape")
    name, shape = layout
    if not isinstance(name, str) or name not in _DTYPES:
        raise FrameError("an array's dtype is not on the list")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        raise FrameError(f"an array's shape is no list of at most {MAX_DIMENSIONS} sizes")
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= LARGEST_INTEGER:
            raise FrameError("an array's shape holds something else than sizes")
    # NumPy multiplies the sizes that are not 0 even where another one is 0, and would overflow.
    if math.prod(size for size in shape if size) > MAX_BODY_BYTES:
        raise FrameError("an array's shape is larger than allowed")
    return name, shape


def _parse_header(raw: bytes) -> dict[str, object]:
    try:
        header = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_unique_keys,
            parse_float=_finite_float,
            parse_int=_short_integer,
            parse_constant=_refuse_constant,
        )
    except FrameError:
        raise
    except (ValueError, RecursionError) as error:
        raise FrameError(f"the frame's header is not valid JSON: {type(error).__name__}") from error
    if not isinstance(header, dict) or set(header) != {"arrays", "value"}:
        raise FrameError("the frame's header must have the keys arrays and value")
    return header


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise FrameError("the frame's header has a duplicate key")
    return result


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise FrameError("a number of the frame's header is too large for a float")
    return number


def _short_integer(text: str) -> int:
    # Checked before int(): converting very long digit strings takes quadratic time.
    if len(text) > len(str(SMALLEST_INTEGER)):
        raise FrameError("an integer has more than 64 bits")
    return _bounded_integer(int(text))


def _refuse_constant(text: str) -> float:
    raise FrameError(f"{text} must be tagged")


def _one_deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise FrameError(f"the data is nested deeper than {MAX_DEPTH} levels")
    return depth + 1


def _bounded_integer(number: int) -> int:
    if not SMALLEST_INTEGER <= number <= LARGEST_INTEGER:
        raise FrameError("an integer has more than 64 bits")
    return number


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FrameError("a string holds a lone surrogate") from error
