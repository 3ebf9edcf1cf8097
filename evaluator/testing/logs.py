"""Clean a box's output and reported errors, so that they can be stored and shown."""

from __future__ import annotations

import re
from typing import Any

from submissions.highlighting import with_visible_marks

MAX_LOG_BYTES = 64 * 1024
CUT_MARK = "\n[the log is cut here]"

_TERMINAL_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # window titles, links
    r"|\x1b[ -/]*[0-~]"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean_text(text: str) -> str:
    """Remove terminal sequences and control characters (except newline and tab); spell out marks that hide text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return with_visible_marks(_CONTROL.sub("", _TERMINAL_SEQUENCE.sub("", text)))


def clean_log(raw: bytes, *, truncated: bool = False, limit: int = MAX_LOG_BYTES) -> str:
    """Return a box's stderr as text of at most ``limit`` bytes of UTF-8, with a mark where it was cut.

    ``truncated``: the sandbox has already cut it. Bytes that are not UTF-8 become U+FFFD.
    """
    text = clean_text(raw.decode("utf-8", "replace"))
    mark = CUT_MARK.encode()
    encoded = text.encode()
    if not truncated and len(encoded) <= limit:
        return text
    return encoded[: limit - len(mark)].decode("utf-8", "ignore") + CUT_MARK


def error_text(error: Any) -> str:
    """Format an error reported by a driver as ``Type: message`` and traceback lines. Its content may be forged.

    Raises TypeError or KeyError for anything but such an object.
    """
    heading = ": ".join(part for part in (error["type"], error["message"]) if isinstance(part, str) and part)
    trace = error["traceback"] if isinstance(error["traceback"], list) else []
    return "\n".join([heading, *(f"  at {line}" for line in trace if isinstance(line, str))])
