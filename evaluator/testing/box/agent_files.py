"""How an agent reads and edits a file in its box. Answers are texts for the model, and so are the errors.

Mounted at ``/box/agent_files.py``. Python 3.8 or newer, standard library only.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_READ_BYTES = 8 * 1024 * 1024
MAX_EDIT_BYTES = 1024 * 1024
_SHOWN_MATCHES = 5


class RefusedError(Exception):
    """What was asked for cannot be done with this file; the message says what to do."""


def read(path: Path, first: int, last: int, limit: int) -> str:
    """Lines ``first`` to ``last`` (from 1; 0: from the beginning, to the end), at most ``limit`` characters of them.

    Where something is left out a first line says which lines these are. Raises ``RefusedError`` for what cannot be
    shown, and ``OSError``.
    """
    text = _text(path).replace("\r\n", "\n")
    if not text:
        return "(the file is empty)"
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    begin, end = first or 1, min(last or len(lines), len(lines))
    if begin > len(lines):
        raise RefusedError(f"the file has {len(lines)} lines, so there is no line {begin}")
    if end < begin:
        raise RefusedError(f"last_line ({last}) comes before first_line ({begin})")
    shown: list[str] = []
    length = 0
    for line in lines[begin - 1 : end]:
        length += len(line) + 1
        if length > limit:
            break
        shown.append(line)
    if not shown:
        return (
            f"(line {begin} of {len(lines)} has {len(lines[begin - 1])} characters; its beginning)\n"
            + (lines[begin - 1][:limit])
        )
    reached = begin + len(shown) - 1
    if (begin, reached) == (1, len(lines)):
        return "\n".join(shown)
    more = f"; read on from line {reached + 1}" if reached < end else ""
    return f"(lines {begin} to {reached} of {len(lines)}{more})\n" + "\n".join(shown)


def edit(path: Path, old: str, new: str) -> str:
    """Replace ``old``, which must occur exactly once, by ``new``; with an empty ``old`` write the whole file.

    Line ends of a file that has only Windows' stay so. Raises ``RefusedError`` with what to do, and ``OSError``.
    """
    if not old:
        return _write_whole(path, new)
    text = _text(path)
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    count = text.count(old)
    if count == 0:
        raise RefusedError("`old` does not occur in the file: it must match exactly, spaces and line ends included")
    if count > 1:
        places = [str(line) for line in _lines_of(text, old)]
        shown = ", ".join(places[:_SHOWN_MATCHES]) + (", ..." if len(places) > _SHOWN_MATCHES else "")
        raise RefusedError(
            f"`old` occurs {count} times (at lines {shown}): add lines around it until it is the only one"
        )
    if old == new:
        raise RefusedError("`new` is the same as `old`: nothing to change")
    first = text.count("\n", 0, text.index(old)) + 1
    _write(path, text.replace(old, new, 1))
    return f"Edited from line {first}: {_lines(old)} replaced by {_lines(new)}."


def _write_whole(path: Path, new: str) -> str:
    there = os.path.lexists(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, new)
    return f"{'Overwrote' if there else 'Created'} the file: {_lines(new)}."


def _write(path: Path, text: str) -> None:
    content = text.encode("utf-8")
    if len(content) > MAX_EDIT_BYTES:
        raise RefusedError(f"the file would be larger than {MAX_EDIT_BYTES // 1024} KB")
    if path.is_dir():
        raise RefusedError("this is a folder")
    if os.path.lexists(path) and not stat.S_ISREG(path.stat().st_mode):
        raise RefusedError("this is no regular file")
    draft = path.with_name(f".{path.name}.draft"[-200:])
    try:
        # Not in place: what was there must survive a full disk.
        draft.write_bytes(content)
        draft.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644)
        os.replace(draft, path.resolve())  # noqa: PTH105 - a link stays one
    finally:
        if os.path.lexists(draft):
            draft.unlink()


def _text(path: Path) -> str:
    """The whole file as text. Raises ``RefusedError`` for what is none."""
    if path.is_dir():
        raise RefusedError("this is a folder: list it with run")
    # Never waits for somebody at the other end of a pipe.
    descriptor = os.open(str(path), os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise RefusedError("this is no regular file")
        content = file.read(MAX_READ_BYTES + 1)
    if len(content) > MAX_READ_BYTES:
        raise RefusedError(
            f"the file is larger than {MAX_READ_BYTES // (1024 * 1024)} MB: look at parts of it with run"
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise RefusedError("this is a binary file: look at it with run")
    return text


def _lines_of(text: str, part: str) -> list[int]:
    found: list[int] = []
    place = text.find(part)
    while place >= 0 and len(found) <= _SHOWN_MATCHES:
        found.append(text.count("\n", 0, place) + 1)
        place = text.find(part, place + len(part))
    return found


def _lines(text: str) -> str:
    count = text.count("\n") + (not text.endswith("\n") and bool(text))
    return f"{count} line{'' if count == 1 else 's'}"
