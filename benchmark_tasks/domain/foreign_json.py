"""Read untrusted JSON and report every error in it: what is wrong, where, and how to correct it.

pydantic models describe what is expected; this module alone words their errors. No Django here.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

KeyPath: TypeAlias = "tuple[str | int, ...]"

LEAVES_FOLDER: Final = "leaves_folder"
"""Type of the validation error for a path that leads out of its folder; it refuses the whole import."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LONGEST_NUMBER: Final = 40
_DEEPEST: Final = 20
_MOST_KEYS: Final = 1000
_SHOWN: Final = 60
_KINDS: Final = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number"}
_WANTED: Final = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "an object"),
    "string_type": "a text in quotes",
    "list_type": "a list",
    "tuple_type": "a list",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
}


class JsonError(ValueError):
    """Raised for text that is not JSON or cannot be stored. ``line`` and ``column`` start at 1, None if unknown."""

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class JsonProblem:
    """One error: the value's path in the file, and a message that begins with that path and has no full stop."""

    path: KeyPath
    message: str
    kind: str = ""

    @property
    def sentence(self) -> str:
        """The message with its full stop."""
        return self.message if self.message.endswith("?") else f"{self.message}."

    @property
    def key(self) -> str:
        """The key of the outermost object that the error is in."""
        return str(self.path[0]) if self.path else ""


def read_json(content: bytes) -> Any:
    """Parse ``content`` (UTF-8; a byte order mark is skipped).

    Raises JsonError for broken JSON, duplicate keys, NaN and infinities, numbers of more than 40 characters, more than
    1000 keys in one object, nesting deeper than 20, NUL characters and lone surrogates.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise JsonError("is not UTF-8 text", line=line, column=column) from None
    _refuse_depth(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        raise JsonError(f"is not JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    _refuse_unstorable_text(value)
    return value


def places(text: str) -> dict[KeyPath, tuple[int, int]]:
    """Map the path of every value in valid JSON to its line and column, from 1; the later one of a repeated key."""
    found: dict[KeyPath, tuple[int, int]] = {}
    path: list[str | int] = []
    is_key = False
    line, line_start, seen = 1, 0, 0
    for match in _TOKEN.finditer(text):
        piece, start = match[0], match.start()
        newlines = text.count("\n", seen, start)
        if newlines:
            line, line_start = line + newlines, text.rfind("\n", seen, start) + 1
        seen = start
        if piece in ("}", "]"):
            path.pop()
            is_key = False
        elif piece == ",":
            number = path[-1]
            is_key = isinstance(number, str)
            path[-1] = "" if isinstance(number, str) else number + 1
        elif is_key:
            path[-1], is_key = json.loads(piece), False
        elif piece != ":":
            found[tuple(path)] = (line, start - line_start + 1)
            if piece in ("{", "["):
                path.append("" if piece == "{" else 0)
                is_key = piece == "{"
    return found


def problems_of(error: ValidationError, known: Sequence[str] = ()) -> list[JsonProblem]:
    """Convert pydantic's errors. ``known`` are the keys that an unknown key may be a misspelling of."""
    return [JsonProblem(each["loc"], _message_of(each, known), each["type"]) for each in error.errors()]


def nearest(wanted: str, known: Sequence[str]) -> str:
    """Return ``did you mean 'x'?`` if a known name resembles ``wanted``, else the known names (the first ten)."""
    shown = f"known: {', '.join(known[:10])}{', ...' if len(known) > 10 else ''}"
    return _suggestion(wanted, known) or shown


def unknown_key(path: KeyPath, known: Sequence[str]) -> str:
    """Return the message for an unknown key."""
    advice = _suggestion(str(path[-1]), known) or "remove it or correct its spelling"
    return f"{shown_path(path)} is an unknown key; {advice}"


def _suggestion(wanted: str, known: Sequence[str]) -> str:
    close = get_close_matches(wanted.lower()[:100], known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def shown_path(path: KeyPath) -> str:
    """Format a path as ``implementations[0].check``; the empty path is the file itself."""
    shown = ""
    for step in path:
        plain = str(step) if str(step).isprintable() and len(str(step)) <= _SHOWN else ascii(step)[:_SHOWN]
        shown += f"[{step}]" if isinstance(step, int) else f".{plain}" if shown else plain
    return shown or "the file"


def without_nulls(value: Any) -> Any:
    """Return ``value`` without the keys whose value is null, which count as not given."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def _message_of(error: ErrorDetails, known: Sequence[str]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if isinstance(error["input"], str) and kind in ("too_short", "too_long"):
        # pydantic reports this type for a text that one of our own validators has checked before.
        kind = f"string_{kind}"
    subject, shown = shown_path(error["loc"]), f"not {_kind_of(error['input'])}"
    if kind == "extra_forbidden":
        return unknown_key(error["loc"], known)
    if kind in _WANTED:
        return f"{subject} must be {_WANTED[kind]}, {shown}"
    limits: Mapping[str, str] = {
        "missing": "is missing; add it",
        "string_too_short": "is empty; fill it in",
        "string_too_long": f"has more than {context.get('max_length')} characters; shorten it",
        "too_short": f"must have at least {context.get('min_length')} items",
        "too_long": f"has more than {context.get('max_length')} items",
        "greater_than_equal": f"must be at least {context.get('ge')}, {shown}",
        "less_than_equal": f"must be at most {context.get('le')}, {shown}",
        "literal_error": f"must be one of {context.get('expected')}, {shown}",
        "value_error": str(context.get("error")),
        LEAVES_FOLDER: str(context.get("error")),
    }
    return f"{subject} " + (limits.get(kind) or f"cannot be used: {error['msg']}")


def _kind_of(value: object) -> str:
    """Return the value itself if it is short, else its kind or its beginning."""
    shown = json.dumps(value) if isinstance(value, str | int | float | bool | None) else _KINDS.get(type(value), "this")
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def _refuse_depth(text: str) -> None:
    depth = 0
    for match in _TOKEN.finditer(text):
        depth += (match[0] in ("[", "{")) - (match[0] in ("]", "}"))
        if depth > _DEEPEST:
            line = text.count("\n", 0, match.start()) + 1
            column = match.start() - text.rfind("\n", 0, match.start())
            raise JsonError(f"is nested deeper than {_DEEPEST} levels", line=line, column=column)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > _MOST_KEYS:
        raise JsonError(f"has an object of more than {_MOST_KEYS} keys")
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise JsonError(f"has the key {key[:_SHOWN]!r} twice in one object; keep one")
        found[key] = value
    return found


def _refuse_constant(constant: str) -> Any:
    raise JsonError(f"holds {constant}, which is not a JSON number")


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise JsonError(f"holds a number of {len(digits)} characters, which is too long")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if len(digits) > _LONGEST_NUMBER or not math.isfinite(value):
        raise JsonError(f"holds the number {digits[:_LONGEST_NUMBER]}, which is too long or too large")
    return value


def _refuse_unstorable_text(value: Any) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise JsonError("holds a text with a NUL character")
        if _SURROGATE.search(value):
            raise JsonError("holds a text with half of a surrogate pair (a broken \\u escape)")
    elif isinstance(value, list):
        for item in value:
            _refuse_unstorable_text(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_unstorable_text(key)
            _refuse_unstorable_text(item)
