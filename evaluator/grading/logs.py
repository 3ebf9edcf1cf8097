"""Make what a candidate printed fit to be stored and shown."""

from __future__ import annotations

import re

MAX_LOG_BYTES = 64 * 1024
CUT_MARK = "\n[the log is cut here]"

_TERMINAL_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # window titles, links
    r"|\x1b[ -/]*[0-~]"
)
# C0 and C1 controls but tab and newline; marks that reorder text on the page (Trojan Source, CVE-2021-42574).
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Remove terminal sequences, control characters (newline and tab stay) and marks that reorder text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", _TERMINAL_SEQUENCE.sub("", text))


def clean_log(raw: bytes, *, truncated: bool = False, limit: int = MAX_LOG_BYTES) -> str:
    """Return a box's stderr as text of at most ``limit`` bytes of UTF-8, with a mark where it was cut.

    ``truncated`` says that the sandbox has already cut it. Bytes that are no UTF-8 become U+FFFD.
    """
    text = clean_text(raw.decode("utf-8", "replace"))
    mark = CUT_MARK.encode()
    encoded = text.encode()
    if not truncated and len(encoded) <= limit:
        return text
    return encoded[: limit - len(mark)].decode("utf-8", "ignore") + CUT_MARK
