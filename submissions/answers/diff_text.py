"""Convert a submitted diff to plain text for ``git apply``: decode it, strip colours, drop binary parts."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from submissions.answers.contents import AnswerError

MAX_DIFF_BYTES: Final = 1024 * 1024
MAX_CHANGED_FILES: Final = 200
COLOURED: Final = "The diff's colours (git diff --color) were removed."
DECODED: Final = "This is UTF-16 text; it was converted to UTF-8."

_UTF16: Final = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_COLOUR: Final = re.compile(rb"\x1b\[[0-9;]*[mK]")
# git colours the headers of every file, so escapes elsewhere belong to the content.
_COLOURED_HEADER: Final = re.compile(rb"^(?:\x1b\[[0-9;]*m)+(?:diff --git |--- |\+\+\+ |@@ )", re.MULTILINE)
_HEADERS: Final = re.compile(rb"^(?:\+\+\+ |diff --git )", re.MULTILINE)
_COPIES: Final = re.compile(rb"^(?:copy|rename) from ", re.MULTILINE)
_MOST_HEADERS: Final = 2 * MAX_CHANGED_FILES
_MOST_COPIES: Final = 20
_PART: Final = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_BINARY: Final = re.compile(rb"^(?:Binary files .* differ|GIT binary patch)\r?$", re.MULTILINE)
_NAMES: Final = re.compile(rb"diff --git (?P<old>\S+) (?P<new>\S+)\r?\n")
_SHOWN_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class PlainDiff:
    """A diff as UTF-8 text that ends with a line end. ``binary`` has the file names of the dropped binary parts.

    ``notes`` are sentences on what was converted.
    """

    text: bytes
    notes: tuple[str, ...] = ()
    binary: tuple[str, ...] = ()


def as_utf8(content: bytes) -> bytes:
    """Convert ``content`` from UTF-16 with a byte order mark, as PowerShell's ``>`` writes it, to UTF-8 without one."""
    for mark, encoding in _UTF16:
        if content.startswith(mark):
            with suppress(UnicodeDecodeError):
                return content.removeprefix(mark).decode(encoding).encode()
    return content.removeprefix(codecs.BOM_UTF8)


def converted(content: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return ``content`` as :func:`as_utf8` does, with a note if it was UTF-16."""
    text = as_utf8(content)
    return text, () if content.endswith(text) else (DECODED,)


def plain_diff(diff: bytes) -> PlainDiff:
    """Convert ``diff`` for ``git apply``.

    Raises AnswerError if it is not text, is empty or too large, or has a Markdown fence.
    """
    if len(diff) > 2 * MAX_DIFF_BYTES:
        raise _too_large()
    text, notes = converted(diff)
    if _COLOURED_HEADER.search(text):
        text, notes = _COLOUR.sub(b"", text), (*notes, COLOURED)
    _require_text(text)
    text, binary = _without_binary_parts(text if text.endswith(b"\n") else text + b"\n")
    # Limit the files before git creates them: a small diff may copy a large file thousands of times.
    if len(_HEADERS.findall(text)) > _MOST_HEADERS or len(_COPIES.findall(text)) > _MOST_COPIES:
        raise AnswerError(f"The diff touches more than {MAX_CHANGED_FILES} files or copies more than {_MOST_COPIES}.")
    return PlainDiff(text, notes, binary)


def _too_large() -> AnswerError:
    return AnswerError(f"The diff is larger than {MAX_DIFF_BYTES // 1024} KB; send only the change.")


def _require_text(diff: bytes) -> None:
    if len(diff) > MAX_DIFF_BYTES:
        raise _too_large()
    if not diff.strip():
        raise AnswerError("The diff is empty.")
    try:
        diff.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AnswerError("The diff is not UTF-8 text.", line=_line_at(diff, error.start)) from None
    if b"\0" in diff:
        raise AnswerError(
            "The diff contains a NUL character. UTF-16 text needs a byte order mark.",
            line=_line_at(diff, diff.index(b"\0")),
        )
    if diff.lstrip().startswith(b"```"):
        raise AnswerError("The diff is wrapped in a Markdown fence (```); send only the diff inside.", line=1)


def _line_at(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1


def _without_binary_parts(diff: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Remove the parts on binary files, for which git would refuse the whole diff; return their names too."""
    if not _BINARY.search(diff):
        return diff, ()
    kept: list[bytes] = []
    names: list[str] = []
    for part in _PART.split(diff):
        named = _NAMES.match(part)
        if named is None or not _BINARY.search(part.partition(b"\n@@ ")[0]):
            kept.append(part)
            continue
        name = named["new"].decode("utf-8", "replace").strip('"').partition("/")[2][:_SHOWN_NAME]
        names.append("".join(c if c.isprintable() else "?" for c in name))
    return b"".join(kept), tuple(names)
