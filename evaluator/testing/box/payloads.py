"""Serialise the arguments and results of a goal function in another box: as data, never as pickles.

A payload is plain data for one message, ``{"things": […], "root": value}``. Lists, dicts, sets, arrays, tensors and
data frames are things, named once and referred to by number, so that what was one object stays one object; everything
else stands inside the value that holds it. What a thing became after a call is sent back under its number.

Only exact types are serialised: a subclass may mean anything. Tensors lose their graph; leaves that want a gradient
still want one on the other side. Runs in boxes and, for tests, on the host: Python 3.8 or newer, NumPy; PyTorch and
pandas only where something of theirs is serialised.
"""

from __future__ import annotations

import importlib
import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_THINGS = 100_000
MAX_DIGITS = 4000
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_TORCH_DTYPES = (
    *("float16", "float32", "float64", "bfloat16", "complex64", "complex128", "bool"),
    *("uint8", "int8", "int16", "int32", "int64"),
)
_CONTAINERS: dict[str, Callable[[], Any]] = {"list": list, "dict": dict, "ordered": OrderedDict, "set": set}
_KEYS = (str, int, float, bool, type(None), tuple, bytes)


class PayloadError(TypeError):
    """This value cannot be serialised, or what came is no payload."""


class Packer:
    """Packs values into one payload. Packed things are looked at, not copied: encode the payload before they change."""

    def __init__(self, things: list[Any] | None = None) -> None:
        """``things`` are those that came in an earlier payload: they are referred to, and no part of the new one."""
        self.things: list[Any] = []
        self._packed: list[Any] = []
        self._numbers: dict[int, int] = {}
        for thing in things or []:
            self._number(thing)
        self._first = len(self.things)
        for number, thing in enumerate(self.things[: self._first]):
            self._packed[number] = self._thing(thing)

    def pack(self, value: Any) -> dict[str, Any]:
        """One payload. Raises :class:`PayloadError` naming the type that cannot be."""
        root = self._value(value)
        return {"things": self._packed[self._first :], "root": root}

    def changes(self, before: list[Any]) -> list[list[Any]]:
        """``[number, thing]`` for each of the earlier things that is not packed as in ``before`` any more."""
        pairs = enumerate(zip(self._packed[: self._first], before))  # noqa: B905 - Python 3.8 has no strict
        return [[number, now] for number, (now, then) in pairs if not same(now, then)]

    def _number(self, thing: Any) -> int:
        if len(self.things) >= MAX_THINGS:
            raise PayloadError(f"more than {MAX_THINGS} containers")
        number = self._numbers[id(thing)] = len(self.things)
        self.things.append(thing)
        self._packed.append(None)
        return number

    def _refer(self, thing: Any) -> int:
        known = self._numbers.get(id(thing))
        if known is None:
            known = self._number(thing)
            self._packed[known] = self._thing(thing)
        return known

    def _thing(self, thing: Any) -> dict[str, Any]:
        kind = type(thing)
        if kind is list:
            return {"list": [self._value(item) for item in thing]}
        if kind in (dict, OrderedDict):
            pairs = [[self._key(key), self._value(item)] for key, item in thing.items()]
            return {"dict" if kind is dict else "ordered": pairs}
        if kind is set:
            return {"set": [self._key(item) for item in _steady(thing)]}
        if kind is np.ndarray:
            return {"array": thing}
        if kind.__module__.partition(".")[0] == "pandas":
            return self._table(thing)
        return _tensor_data(thing)

    def _table(self, table: Any) -> dict[str, Any]:
        """A data frame or series, column by column."""
        pandas: Any = sys.modules["pandas"]
        if type(table) is pandas.Series:
            return {"series": [self._column(table), self._column(table.index), self._key(table.name)]}
        if type(table) is pandas.DataFrame:
            columns = [
                [self._key(table.columns[place]), self._column(table.iloc[:, place])] for place in range(table.shape[1])
            ]
            return {"frame": [columns, self._column(table.index)]}
        raise PayloadError(f"a {type(table).__name__} of pandas cannot be serialised")

    def _column(self, column: Any) -> dict[str, Any]:
        values = column.to_numpy()
        if values.dtype != object:
            return {"column": values}
        return {"tuple": [self._key(item) for item in values]}

    def _key(self, key: Any) -> Any:
        if type(key) not in _KEYS and not isinstance(key, np.generic):
            raise PayloadError(f"a {type(key).__name__} as key or in a set cannot be serialised")
        return self._value(key)

    def _value(self, value: Any) -> Any:  # noqa: C901 - one line a kind
        kind = type(value)
        if value is None or kind in (bool, float, str):
            return value
        if kind is int:
            return value if _SMALLEST <= value <= _LARGEST else {"int": _digits(value)}
        if kind is complex:
            return {"complex": [value.real, value.imag]}
        if kind is bytes:
            return {"bytes": np.frombuffer(value, dtype=np.uint8)}
        if kind in (tuple, frozenset):
            items = value if kind is tuple else _steady(value)
            return {kind.__name__: [self._value(item) for item in items]}
        if kind is slice:
            return {"slice": [self._value(part) for part in (value.start, value.stop, value.step)]}
        if kind is range:
            return {"range": [value.start, value.stop, value.step]}
        if value is Ellipsis:
            return {"ellipsis": True}
        if isinstance(value, np.generic):
            return {"scalar": value}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        return _torch_fact(value) or {"thing": self._refer(value)}


class Unpacker:
    """Rebuilds the values of a payload. Everything in it may be hostile; nothing but data comes out."""

    def __init__(self, things: list[Any] | None = None) -> None:
        """``things`` are those that were sent before, which the payload may refer to by their numbers."""
        self.things: list[Any] = list(things or [])

    def unpack(self, payload: Any) -> Any:
        """The payload's root. Raises :class:`PayloadError` for anything that :class:`Packer` does not write."""
        try:
            packed = _things_of(payload)
            made = [self._begin(thing) for thing in packed]
            self.things += made
            for thing, content in zip(made, packed):  # noqa: B905 - Python 3.8 has no strict
                self._fill(thing, content)
            return self._value(payload["root"])
        except PayloadError:
            raise
        except Exception as error:
            raise PayloadError(f"this is no payload: {type(error).__name__}") from error

    def restore(self, changes: list[list[Any]]) -> None:
        """Put the new contents of things, ``[number, thing]``, into the objects that have these numbers."""
        try:
            for number, packed in changes:
                made = self._begin(packed)
                self._fill(made, packed)
                replace_content(self.things[number], made)
        except PayloadError:
            raise
        except Exception as error:
            raise PayloadError(f"these are no changes: {type(error).__name__}") from error

    def _begin(self, packed: dict[str, Any]) -> Any:
        """An empty container, which others may refer to before it is filled, or the thing itself."""
        (kind, content), *others = packed.items()
        if kind in _CONTAINERS:
            return _CONTAINERS[kind]()
        if kind == "array":
            return _array(content)
        if kind == "tensor":
            return _tensor(_array(content), **dict(others))
        if kind == "series":
            values, index, name = (self._value(part) for part in content)
            return _pandas().Series(values, index=index, name=name)
        if kind == "frame":
            columns, index = content
            made = {self._value(name): self._value(column) for name, column in columns}
            return _pandas().DataFrame(made, index=self._value(index))
        raise PayloadError(f"{kind!r} is no kind of thing")

    def _fill(self, made: Any, packed: dict[str, Any]) -> None:
        """Put the content into a container."""
        kind, content = next(iter(packed.items()))
        if kind == "list":
            made.extend(self._value(item) for item in content)
        elif kind in ("dict", "ordered"):
            made.update((self._value(key), self._value(item)) for key, item in content)
        elif kind == "set":
            made.update(self._value(item) for item in content)

    def _value(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        ((kind, content),) = value.items()
        if kind == "thing":
            if type(content) is not int or not 0 <= content < len(self.things):
                raise PayloadError("a reference leads nowhere")
            return self.things[content]
        make = _MAKERS.get(kind)
        if make is None:
            raise PayloadError(f"{kind!r} is no kind of value")
        return make(self._value, content)


def _things_of(payload: Any) -> list[Any]:
    if set(payload) != {"things", "root"} or len(payload["things"]) > MAX_THINGS:
        raise PayloadError("this is no payload")
    things: list[Any] = payload["things"]
    return things


def replace_content(thing: Any, new: Any) -> None:
    """Make ``thing`` hold what ``new`` holds, and stay the object that it is.

    Raises :class:`PayloadError` where the kind, shape or dtype is another one.
    """
    kind = type(thing)
    if kind is list:
        thing[:] = new
    elif kind in (dict, OrderedDict, set):
        thing.clear()
        thing.update(new)
    elif kind is np.ndarray and new.shape == thing.shape and new.dtype == thing.dtype:
        thing[...] = new
    elif _is_tensor(thing) and _is_tensor(new) and new.shape == thing.shape and new.dtype == thing.dtype:
        with sys.modules["torch"].no_grad():
            thing.copy_(new)
    else:
        raise PayloadError(f"a {kind.__name__} was changed in a way that cannot be sent back")


def same(one: Any, other: Any) -> bool:
    """Whether two packed values are equal to the bit."""
    if isinstance(one, (np.ndarray, np.generic)):
        alike = isinstance(other, (np.ndarray, np.generic)) and one.dtype == other.dtype and one.shape == other.shape
        return alike and one.tobytes() == other.tobytes()
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return type(one) is type(other) and list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and (one == other or (one != one and other != other))


def _steady(items: Any) -> list[Any]:
    """The items of a set in an order that does not depend on the process."""
    return sorted(items, key=lambda item: (type(item).__name__, repr(item)))


def _digits(number: int) -> str:
    if number.bit_length() > 3 * MAX_DIGITS:
        raise PayloadError("an integer of that size cannot be serialised")
    return str(number)


def _tensor_data(tensor: Any) -> dict[str, Any]:
    """The raw values of a plain tensor or parameter, as an array that any NumPy can hold."""
    if not _is_tensor(tensor):
        raise PayloadError(f"a {type(tensor).__module__}.{type(tensor).__qualname__} is not data")
    torch: Any = sys.modules["torch"]
    name = _torch_name(tensor.dtype)
    if tensor.layout is not torch.strided or name not in _TORCH_DTYPES:
        raise PayloadError(f"a tensor of {tensor.dtype}, {tensor.layout} cannot be serialised")
    plain = tensor.detach().cpu().contiguous().resolve_conj().resolve_neg()
    raw = plain.view(torch.int16) if name == "bfloat16" else plain
    return {"tensor": raw.numpy(), "dtype": name, "gradient": bool(tensor.requires_grad and tensor.is_leaf)}


def _is_tensor(value: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter)


def _torch_fact(value: Any) -> dict[str, Any] | None:
    """What PyTorch has besides tensors: sizes, dtypes and devices."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    if isinstance(value, torch.Size):
        return {"size": list(value)}
    if isinstance(value, torch.dtype):
        return {"torch_dtype": _torch_name(value)}
    if isinstance(value, torch.device):
        return {"device": "cpu"}
    return None


def _torch_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _torch_dtype(name: Any) -> Any:
    if name not in _TORCH_DTYPES:
        raise PayloadError(f"{name!r} is no dtype that can be serialised")
    return getattr(importlib.import_module("torch"), name)


def _tensor(values: Any, *, dtype: str, gradient: bool) -> Any:
    torch: Any = importlib.import_module("torch")
    tensor = torch.from_numpy(values.copy())
    if dtype == "bfloat16" and tensor.dtype is torch.int16:
        tensor = tensor.view(torch.bfloat16)
    if tensor.dtype is not _torch_dtype(dtype):
        raise PayloadError("a tensor's values are of another dtype")
    if gradient is True and (tensor.is_floating_point() or tensor.is_complex()):
        tensor.requires_grad_(True)
    return tensor


def _pandas() -> Any:
    return importlib.import_module("pandas")


def _array(content: Any) -> Any:
    if not isinstance(content, np.ndarray):
        raise PayloadError("an array is missing")
    return content


def _scalar(content: Any) -> Any:
    if not isinstance(content, np.ndarray) or content.ndim:
        raise PayloadError("a scalar is missing")
    return content[()]


def _integer(content: Any) -> int:
    if not isinstance(content, str) or len(content) > MAX_DIGITS + 1:
        raise PayloadError("an integer is too long")
    return int(content)


_MAKERS: dict[str, Callable[..., Any]] = {
    "int": lambda _, content: _integer(content),
    "complex": lambda _, content: complex(float(content[0]), float(content[1])),
    "bytes": lambda _, content: _array(content).astype(np.uint8).tobytes(),
    "tuple": lambda read, content: tuple(read(item) for item in content),
    "frozenset": lambda read, content: frozenset(read(item) for item in content),
    "slice": lambda read, content: slice(*(read(part) for part in content)),
    "range": lambda _, content: range(*(int(part) for part in content)),
    "ellipsis": lambda _read, _content: Ellipsis,
    "scalar": lambda _, content: _scalar(content),
    "column": lambda _, content: _array(content),
    "dtype": lambda _, content: np.dtype(str(content)),
    "size": lambda _, content: importlib.import_module("torch").Size([int(part) for part in content]),
    "torch_dtype": lambda _, content: _torch_dtype(content),
    "device": lambda _read, _content: importlib.import_module("torch").device("cpu"),
}
