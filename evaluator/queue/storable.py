"""Foreign text as every database takes it."""

from __future__ import annotations

import re
from typing import Any, Final

# PostgreSQL keeps neither in text nor in JSON; models and hostile servers send both.
_NOT_STORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def storable_text(text: str) -> str:
    """``text`` with a replacement character for each NUL and each half of a surrogate pair."""
    return _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def storable(data: Any) -> Any:
    """The same in all texts, keys included, of parsed JSON."""
    if isinstance(data, str):
        return storable_text(data)
    if isinstance(data, dict):
        return {storable_text(str(key)): storable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [storable(value) for value in data]
    return data
