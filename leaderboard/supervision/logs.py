"""One log file per program, rotated when a program starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 5 * 1024 * 1024
KEPT = 3


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
            handle.seek(max(0, handle.seek(0, 2) - 16 * 1024))
            lines = handle.read().decode("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return "\n".join(f"    {line}" for line in lines[-count:])
