"""Read what a provider sent: JSON within limits, and values of the expected types. Standard library only."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from evaluator.providers.faults import hostile
from evaluator.providers.interface import TokenUsage, ToolUse

DEEPEST: Final = 60
LONGEST_ID: Final = 200
MOST_TOKENS: Final = 10**9
EMPTY: Final = "(nothing)"
"""Text of an empty turn, for providers that refuse one without text."""


def parsed(content: bytes | str) -> dict[str, Any]:
    """Parse a JSON object that every database can store. Raises a ``HOSTILE`` error for anything else."""
    try:
        found = _loaded(content)
    except (ValueError, RecursionError):
        found = None
    if found is None:
        # Raised outside the handler: the parser's exception holds the whole text and would become its context.
        raise hostile("invalid JSON")
    if not isinstance(found, dict):
        raise hostile("JSON that is not an object")
    return found


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    """Return ``value`` if it is an object. Raises a ``HOSTILE`` error that names ``what`` is missing."""
    if not isinstance(value, Mapping):
        raise hostile(f"JSON without {what}")
    return value


def items(value: Any, what: str) -> list[Mapping[str, Any]]:
    """Return ``value`` if it is a list of objects. Raises a ``HOSTILE`` error that names ``what`` is missing."""
    if not isinstance(value, list):
        raise hostile(f"JSON without {what}")
    return [mapping(item, what) for item in value]


def text(value: Any) -> str:
    """Return ``value`` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def short(value: Any) -> str:
    """Return an id or a name, cut to a length that no provider exceeds."""
    return text(value)[:LONGEST_ID]


def count(value: Any) -> int | None:
    """Return ``value`` if it can be a number of tokens, else ``None``."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def reported(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the usage that a body reports; empty if none."""
    usage = raw.get("usage")
    return usage if isinstance(usage, Mapping) else {}


def usage_of(*, read: int | None, written: int | None, cached: int | None) -> TokenUsage:
    """Make a reply's usage. A prompt of 0 tokens means unknown: servers that do not count send it."""
    return TokenUsage(read or None, written, min(cached or 0, read or 0))


def tool_use(*, use_id: Any, name: Any, arguments: Any) -> ToolUse:
    """Make a tool call. ``arguments`` is JSON text or an object; for anything else ``wrong`` explains the problem."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    found: Any = arguments
    if isinstance(arguments, str):
        try:
            found = _loaded(arguments)
        except (ValueError, RecursionError):
            return ToolUse(short(use_id), short(name), raw=raw, wrong="The arguments are not JSON.")
    if not isinstance(found, dict):
        return ToolUse(short(use_id), short(name), raw=raw, wrong="The arguments are not a JSON object.")
    return ToolUse(short(use_id), short(name), found, raw=raw)


def _loaded(content: bytes | str) -> Any:
    return _clean(json.loads(content, parse_constant=_not_json, parse_float=_finite), DEEPEST)


def _not_json(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(number)
    return value


def _clean(value: Any, depth: int) -> Any:
    """Replace lone surrogates and NUL, which databases refuse. Raises ``ValueError`` when nested too deeply."""
    if depth == 0:
        msg = "nested too deeply"
        raise ValueError(msg)
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_clean(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {_clean(name, depth - 1): _clean(item, depth - 1) for name, item in value.items()}
    return value
