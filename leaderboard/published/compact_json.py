"""JSON as the shipped data files are written: indented, but what fits on a line stays on it. No Django here."""

from __future__ import annotations

import json
from typing import Any

_LINE_LENGTH = 118


def compact_json(value: Any) -> str:
    """``value`` as JSON text that ends in a newline; the same value always gives the same text."""
    return _render(value, indent=0) + "\n"


def _render(value: Any, *, indent: int) -> str:
    line = json.dumps(value, ensure_ascii=False)
    holds_objects = isinstance(value, (dict, list)) and any(isinstance(item, (dict, list)) for item in _items(value))
    if not isinstance(value, (dict, list)) or not value or (not holds_objects and indent + len(line) <= _LINE_LENGTH):
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_render(item, indent=indent + 2)}" for key, item in value.items()]
        opening, closing = "{", "}"
    else:
        parts = [_render(item, indent=indent + 2) for item in value]
        opening, closing = "[", "]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{closing}"


def _items(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value
