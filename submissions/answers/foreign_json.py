"""JSON as strangers send it, read strictly: what a database, a page or a second reader would trip over is refused."""

from __future__ import annotations

import json
import math
import re
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_LONGEST_NUMBER = 40
_DEEPEST = 20
_MOST_KEYS = 100
_SURROGATE = re.compile("[\ud800-\udfff]")


class ForeignJsonError(ValueError):
    """The text is not JSON, or not JSON that may be kept. ``line`` and ``column`` start at 1 where known."""

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        where = f"line {line}, column {column}: " if line is not None else ""
        super().__init__(where + message)
        self.message = message
        self.line = line
        self.column = column

    def sentence(self, beginning: str) -> str:
        """The message as a sentence without the line, for a report that gives the line beside it."""
        where = f" at column {self.column}" if self.column is not None else ""
        return f"{beginning}{where}: {self.message}."


def read_json(content: bytes) -> JsonValue:
    """The value that ``content`` (UTF-8, a byte order mark is skipped) holds.

    Raises ForeignJsonError for broken JSON, duplicate keys, NaN and infinities, numbers of more than 40 characters,
    more than 100 keys in one object, nesting deeper than 20, NUL characters and lone surrogates.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - (content.rfind(b"\n", 0, error.start) + 1) + 1
        raise ForeignJsonError("not UTF-8 text", line=line, column=column) from None
    _refuse_depth(text)
    try:
        value: JsonValue = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        raise ForeignJsonError(f"not JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    _refuse_unstorable_text(value)
    return value


def _refuse_depth(text: str) -> None:
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        token = match[0]
        if token in ("[", "{"):
            depth += 1
        elif token in ("]", "}"):
            depth -= 1
        if depth > _DEEPEST:
            line = text.count("\n", 0, match.start()) + 1
            column = match.start() - text.rfind("\n", 0, match.start())
            raise ForeignJsonError(f"nested deeper than {_DEEPEST} levels", line=line, column=column)


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    if len(pairs) > _MOST_KEYS:
        raise ForeignJsonError(f"an object has more than {_MOST_KEYS} keys")
    found: dict[str, JsonValue] = {}
    for key, value in pairs:
        if key in found:
            raise ForeignJsonError(f"the key {key[:60]!r} is given twice in one object")
        found[key] = value
    return found


def _refuse_constant(constant: str) -> JsonValue:
    raise ForeignJsonError(f"{constant} is not a JSON number")


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ForeignJsonError(f"a number of {len(digits)} characters is too long")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if len(digits) > _LONGEST_NUMBER or not math.isfinite(value):
        raise ForeignJsonError(f"the number {digits[:_LONGEST_NUMBER]} is too long or too large")
    return value


def _refuse_unstorable_text(value: JsonValue) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise ForeignJsonError("a text holds a NUL character")
        if _SURROGATE.search(value):
            raise ForeignJsonError("a text holds half of a surrogate pair (a broken \\u escape)")
    elif isinstance(value, list):
        for item in value:
            _refuse_unstorable_text(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_unstorable_text(key)
            _refuse_unstorable_text(item)
