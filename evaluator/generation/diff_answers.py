"""Answers that are unified diffs, read as leniently as people read them: by their lines, not by their line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_HUNK = re.compile(r"^@@.*$")
_HEADER = re.compile(r"^(?:---|\+\+\+|diff --git|index |new file|deleted file|similarity|rename |old mode|new mode)")
_MOST_HUNKS: Final = 100
_INFOS: Final = ("diff", "patch", "udiff")


class DiffError(Exception):
    """The diff does not fit the file. The message says why."""


@dataclass(slots=True)
class _Hunk:
    """Lines with their marks (`` ``, ``+``, ``-``), and the file that the header above named."""

    file: str
    lines: list[str] = field(default_factory=list)

    @property
    def old(self) -> list[str]:
        return [line[1:] for line in self.lines if line[:1] != "+"]

    @property
    def new(self) -> list[str]:
        return [line[1:] for line in self.lines if line[:1] != "-"]


def is_diff(text: str, info: str) -> bool:
    """Whether ``text`` (of a block with the info string ``info``) is a unified diff."""
    lines = text.split("\n")
    has_changes = any(line[:1] in ("+", "-") and not _HEADER.match(line) for line in lines)
    has_hunk = any(_HUNK.match(line) for line in lines)
    has_files = any(line.startswith("--- ") for line in lines) and any(line.startswith("+++ ") for line in lines)
    named = bool(info) and info.split()[0].lower() in _INFOS
    return has_changes and (has_hunk or has_files or named)


def patched(diff: str, file: str, original: str) -> tuple[str, tuple[str, ...]]:
    """``original``, which is the text of ``file``, with the diff's changes of it, and the other files that it changes.

    A hunk goes where its unchanged and removed lines stand, whatever its header says. Raises DiffError where they do
    not stand there once, or where nothing changes ``file``.
    """
    hunks = _hunks(diff)
    ours = [hunk for hunk in hunks if not hunk.file or _same_file(hunk.file, file)]
    others = tuple(dict.fromkeys(hunk.file for hunk in hunks if hunk not in ours))
    if not ours:
        raise DiffError(f"The diff does not change {file}.")
    lines = original.split("\n")
    for hunk in ours:
        lines = _with_hunk(lines, hunk)
    return "\n".join(lines), others


def added(diff: str, file: str) -> str:
    """The lines as they are after the diff, of ``file``'s hunks: for a diff that does not fit its file."""
    hunks = [hunk for hunk in _hunks(diff) if not hunk.file or _same_file(hunk.file, file)]
    return "\n".join("\n".join(hunk.new) for hunk in hunks)


def without_diff_marks(text: str) -> str:
    """The lines without ``+``, and none of those with ``-``, where every line that holds anything is so marked."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines or any(line[:1] not in "+- " for line in lines) or not any(line[:1] == "+" for line in lines):
        return ""
    return "\n".join(line[1:] for line in text.split("\n") if line[:1] != "-")


def _hunks(diff: str) -> list[_Hunk]:
    hunks: list[_Hunk] = []
    file = ""
    current: _Hunk | None = None
    for line in diff.split("\n"):
        if line.startswith(("--- ", "diff --git ")):
            current = None
        elif line.startswith("+++ "):
            file = line[4:].split("\t")[0].strip().removeprefix("b/")
            current = None
        elif _HUNK.match(line):
            current = _Hunk(file=file)
            hunks.append(current)
        elif current is None and line[:1] in ("+", "-", " ") and not _HEADER.match(line) and line.strip():
            # A diff without any "@@": its lines are one hunk.
            current = _Hunk(file=file, lines=[line])
            hunks.append(current)
        elif current is not None and not line.startswith("\\"):
            current.lines.append(line if line[:1] in ("+", "-", " ") else " " + line)
    for hunk in hunks:
        while hunk.lines and not hunk.lines[-1].strip():
            hunk.lines.pop()
    if len(hunks) > _MOST_HUNKS:
        return hunks[:_MOST_HUNKS]
    return [hunk for hunk in hunks if hunk.lines]


def _same_file(named: str, file: str) -> bool:
    return named == file or named.endswith("/" + file) or file.endswith("/" + named)


def _with_hunk(lines: list[str], hunk: _Hunk) -> list[str]:
    old = [line.rstrip() for line in hunk.old]
    stripped = [line.rstrip() for line in lines]
    if not any(old):
        raise DiffError("A hunk of the diff has no line of the file in it.")
    places = [start for start in range(len(lines) - len(old) + 1) if stripped[start : start + len(old)] == old]
    if len(places) != 1:
        how = "more than once" if places else "nowhere"
        raise DiffError(f"The lines that a hunk of the diff changes are {how} in the file.")
    return [*lines[: places[0]], *hunk.new, *lines[places[0] + len(old) :]]
