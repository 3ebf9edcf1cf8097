"""One log file per program, rotated when a program starts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 5 * 1024 * 1024
KEPT = 3
TAIL_BYTES = 16 * 1024
_ERROR = re.compile(r"\b\w*(Error|Exception)\b")


def open_log(folder: Path, name: str, *, largest: int = LARGEST) -> BinaryIO:
    """Open ``<folder>/<name>.log`` for appending.

    One that has reached ``largest`` bytes is first moved to ``<name>.log.1``, that to ``.2``, and so on up to ``KEPT``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.log"
    if file.exists() and file.stat().st_size >= largest:
        for number in range(KEPT, 0, -1):
            older = file.with_name(f"{file.name}.{number - 1}") if number > 1 else file
            if older.exists():
                older.replace(file.with_name(f"{file.name}.{number}"))
    return file.open("ab")


def last_lines(folder: Path, name: str, *, count: int = 15) -> str:
    """The end of a program's log, indented, for a message to the person who started it."""
    try:
        with (folder / f"{name}.log").open("rb") as handle:
            handle.seek(max(0, handle.seek(0, 2) - TAIL_BYTES))
            lines = handle.read().decode("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return "\n".join(f"    {line}" for line in lines[-count:])


def last_error(folder: Path, name: str, *, since: int = 0) -> str:
    """The last line after byte ``since`` of a program's log that names an error, else the last that says anything."""
    with (folder / f"{name}.log").open("rb") as handle:
        handle.seek(max(since, handle.seek(0, 2) - TAIL_BYTES))
        lines = [line.strip() for line in handle.read().decode("utf-8", errors="replace").splitlines()]
    said = [line for line in reversed(lines) if line]
    return next((line for line in said if _ERROR.search(line)), said[0] if said else "")
