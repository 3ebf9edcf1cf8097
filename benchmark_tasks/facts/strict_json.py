"""Reading shipped JSON strictly: every key expected, every type checked, every error saying where. No Django here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_Value = TypeVar("_Value")


class ShippedDataError(ValueError):
    """A shipped data file is not what its reader expects; the message says where and what to do."""


def read_object(path: Path) -> Fields:
    """The JSON object in ``path``. Raises ShippedDataError, with line and column where the JSON itself is broken."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ShippedDataError(f"{path.name}: cannot be read ({error}); restore it from the release.") from error
    except json.JSONDecodeError as error:
        message = f"{path.name}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}."
        raise ShippedDataError(message) from error
    return Fields(value, where=path.name)


class Fields:
    """One JSON object whose keys are taken one by one; ``finish`` refuses keys that nobody took."""

    def __init__(self, value: object, *, where: str) -> None:
        self.where = where
        if type(value) is not dict:
            raise ShippedDataError(f"{where}: expected an object, found {_describe(value)}.")
        self._left: dict[str, object] = dict(value)

    def text(self, key: str) -> str:
        """A string that is not empty."""
        value = self._take(key, str)
        if not value.strip():
            raise ShippedDataError(f"{self.where}: {key!r} is empty; give it a text.")
        return value

    def optional_text(self, key: str) -> str | None:
        """A string that is not empty, or None where the file says null."""
        if key in self._left and self._left[key] is None:
            del self._left[key]
            return None
        return self.text(key)

    def whole_number(self, key: str) -> int:
        """An integer (JSON's true and false are none)."""
        return self._take(key, int)

    def number(self, key: str) -> float:
        """A number with or without a decimal point."""
        return float(self._take(key, int, float))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, which may be empty."""
        values = self._take(key, list)
        for value in values:
            if type(value) is not str or not value.strip():
                raise ShippedDataError(f"{self.where}: {key!r} holds {_describe(value)}, expected texts only.")
        return tuple(values)

    def object(self, key: str) -> Fields:
        """A nested object."""
        return Fields(self._take(key, dict), where=f"{self.where}, {key}")

    def objects(self, key: str) -> list[Fields]:
        """A list of nested objects."""
        values = self._take(key, list)
        return [Fields(value, where=f"{self.where}, {key}[{number}]") for number, value in enumerate(values)]

    def has(self, key: str) -> bool:
        """Whether an optional key is there and not yet taken."""
        return key in self._left

    def keys_left(self) -> Iterator[str]:
        """The keys not yet taken, in the file's order; for objects whose keys are data."""
        return iter(tuple(self._left))

    def finish(self) -> None:
        """Raise ShippedDataError if a key was not taken: a misspelt key would else be silently ignored."""
        if self._left:
            unknown = ", ".join(repr(key) for key in self._left)
            raise ShippedDataError(f"{self.where}: unknown key {unknown}; remove it or correct its spelling.")

    def _take(self, key: str, *kinds: type[_Value]) -> _Value:
        if key not in self._left:
            raise ShippedDataError(f"{self.where}: {key!r} is missing.")
        value = self._left.pop(key)
        # Exact types: bool is a subclass of int, and true is not a number here.
        if type(value) not in kinds:
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise ShippedDataError(f"{self.where}: {key!r} is {_describe(value)}, expected {expected}.")
        return cast("_Value", value)


def _describe(value: object) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
