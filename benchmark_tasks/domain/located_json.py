"""JSON with the place of every value, so that a problem can be told with its line and column. No Django here."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

MAXIMUM_DEPTH: Final = 32

_SPACE: Final = re.compile(r"[ \t\n\r]*")

Value: TypeAlias = "bool | int | float | str | list[Node] | dict[str, Node] | None"


class JsonError(ValueError):
    """The text is not the JSON we accept; ``line`` and ``column`` count from 1."""

    def __init__(self, message: str, *, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Node:
    """One value and where it begins."""

    value: Value
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file; ``repeated`` are its duplicate keys (the later value is kept), each to be told to the author."""

    root: Node
    repeated: tuple[JsonError, ...]


def read_document(data: bytes) -> Document:
    """Parse UTF-8 JSON, with or without BOM.

    Beyond the standard reader this refuses what Python would accept or choke on: NaN and infinities, numbers of
    thousands of digits, and nesting deeper than any info.json needs. Raises JsonError.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        raise JsonError("is not UTF-8; save it as UTF-8", line=line, column=column) from error
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._position = 0
        self._depth = 0
        self._repeated: list[JsonError] = []
        self._scalars = json.JSONDecoder(parse_constant=_refuse_constant)

    def document(self) -> Document:
        self._skip_space()
        root = self._value()
        self._skip_space()
        if self._position != len(self._text):
            self._fail("has more text after the end of the JSON value")
        return Document(root, tuple(self._repeated))

    def _value(self) -> Node:
        line, column = self._place(self._position)
        first = self._peek()
        if first not in "{[" or not first:
            return Node(self._scalar(), line, column)
        self._depth += 1
        if self._depth > MAXIMUM_DEPTH:
            self._fail(f"is nested deeper than {MAXIMUM_DEPTH} levels")
        value: Value = self._object() if first == "{" else self._list()
        self._depth -= 1
        return Node(value, line, column)

    def _scalar(self) -> bool | int | float | str | None:
        try:
            value, end = self._scalars.raw_decode(self._text, self._position)
        except json.JSONDecodeError as error:
            self._position = error.pos
            self._fail(f"is not JSON: {error.msg}")
        except ValueError:
            self._fail("holds a number that is too long or not finite")
        if isinstance(value, float) and not math.isfinite(value):
            self._fail("holds a number that is too long or not finite")
        self._position = end
        return value  # type: ignore[no-any-return]  # lists and objects never get here

    def _object(self) -> dict[str, Node]:
        members: dict[str, Node] = {}
        self._position += 1
        self._skip_space()
        if self._take("}"):
            return members
        while True:
            key = self._key(members)
            self._skip_space()
            if not self._take(":"):
                self._fail("is not JSON: expecting ':' after a key")
            self._skip_space()
            members[key] = self._value()
            self._skip_space()
            if self._take("}"):
                return members
            if not self._take(","):
                self._fail("is not JSON: expecting ',' or '}'")
            self._skip_space()

    def _key(self, members: dict[str, Node]) -> str:
        if self._peek() != '"':
            self._fail("is not JSON: expecting a key in double quotes")
        line, column = self._place(self._position)
        key = str(self._scalar())
        if key in members:
            self._repeated.append(JsonError(f"repeats the key {key!r}; keep one", line=line, column=column))
        return key

    def _list(self) -> list[Node]:
        items: list[Node] = []
        self._position += 1
        self._skip_space()
        if self._take("]"):
            return items
        while True:
            items.append(self._value())
            self._skip_space()
            if self._take("]"):
                return items
            if not self._take(","):
                self._fail("is not JSON: expecting ',' or ']'")
            self._skip_space()

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _take(self, character: str) -> bool:
        if self._peek() != character:
            return False
        self._position += 1
        return True

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._position)
        self._position = match.end() if match else self._position

    def _place(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1

    def _fail(self, message: str) -> NoReturn:
        line, column = self._place(self._position)
        raise JsonError(message, line=line, column=column)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
