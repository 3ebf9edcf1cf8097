"""What an agent has changed in its copy of the repository, told piece by piece.

Mounted at ``/box/agent_changes.py``. Python 3.8 or newer, standard library and NumPy.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np

MAX_FILE_BYTES = 1024 * 1024
MAX_NEW_FILES = 400
MAX_BYTES = 16 * 1024 * 1024
"""How much the changed files of the repository may hold in all, and the new ones likewise."""

MAX_ENTRIES = 60_000
MAX_NAMED = 2000
MAX_NAME_CHARACTERS = 400
_PASSED_OVER = frozenset({".git", "__pycache__", ".pytest_cache"})


class Changes:
    """Compares the copy ``place`` with the ``pristine`` tree whenever it is asked, and reads only what was written."""

    def __init__(self, pristine: Path, place: Path) -> None:
        """``place`` is a fresh copy."""
        self._pristine = pristine
        self._place = place
        self._stamps: dict[str, Any] = {path: _stamp(status) for path, status in self._entries()}
        self._original = frozenset(self._stamps)
        self._told: dict[str, int] = {}
        self._refused: dict[str, str] = {}

    def news(self) -> dict[str, object]:
        """What is different from the last time: ``changed`` (paths and contents), ``restored`` (paths that were told as
        changed and are so no longer); and as they are now: ``deleted`` (paths) and ``refused`` (paths and why).
        """
        found = dict(self._entries())
        changed: list[list[object]] = []
        restored: list[str] = []
        for path in [path for path in (*self._told, *self._refused) if path not in found]:
            self._forget(path, restored)
        for path, status in found.items():
            stamp = _stamp(status)
            if self._stamps.get(path) == stamp:
                continue
            self._stamps[path] = stamp
            self._forget(path, restored)
            content = self._content(path, status)
            if content is not None:
                self._told[path] = len(content)
                changed.append([path, np.frombuffer(content, dtype=np.uint8)])
        self._stamps = {path: stamp for path, stamp in self._stamps.items() if path in found}
        told = {str(path) for path, _ in changed}
        return {
            "changed": changed,
            "restored": [path for path in restored if path not in told],
            "deleted": [_shown(path) for path in sorted(self._original - found.keys()) if self._is_gone(path)][
                :MAX_NAMED
            ],
            "refused": [[_shown(path), why] for path, why in sorted(self._refused.items())][:MAX_NAMED],
        }

    def _forget(self, path: str, restored: list[str]) -> None:
        self._refused.pop(path, None)
        if self._told.pop(path, None) is not None:
            restored.append(path)

    def _content(self, path: str, status: os.stat_result) -> bytes | None:
        """The new content of a changed file; None for one that is as it was, or is refused."""
        why = self._why_not(path, status)
        content = b""
        if not why:
            try:
                content = _read(self._place / path)
            except OSError as error:
                why = f"cannot be read: {error.strerror}"
        if not why and self._is_pristine(path, content):
            return None
        if not why and len(content) + sum(self._told_like(path)) > MAX_BYTES:
            why = f"comes after {MAX_BYTES // (1024 * 1024)} MB of others"
        if why:
            if len(self._refused) < MAX_NAMED:
                self._refused[path] = why
            return None
        return content

    def _why_not(self, path: str, status: os.stat_result) -> str:
        if not stat.S_ISREG(status.st_mode):
            return "is a link or special file"
        if len(path) > MAX_NAME_CHARACTERS or _shown(path) != path:
            return "has a name that is too long or no text"
        if status.st_size > MAX_FILE_BYTES:
            return f"is larger than {MAX_FILE_BYTES // 1024} KB"
        if path not in self._original and len(self._told_like(path)) >= MAX_NEW_FILES:
            return f"comes after {MAX_NEW_FILES} other new files"
        return ""

    def _told_like(self, path: str) -> list[int]:
        """Sizes of the changed files that are new, or that are not, as ``path``: litter must not crowd out answers."""
        is_new = path not in self._original
        return [size for told, size in self._told.items() if (told not in self._original) is is_new]

    def _is_pristine(self, path: str, content: bytes) -> bool:
        if path not in self._original:
            return False
        original = self._pristine / path
        return not original.is_symlink() and original.is_file() and original.read_bytes() == content

    def _is_gone(self, path: str) -> bool:
        """Whether it is not only beyond the number of entries that are looked at."""
        return not os.path.lexists(self._place / path)

    def _entries(self) -> list[tuple[str, os.stat_result]]:
        """Path and status of everything that is no folder, links not followed; at most ``MAX_ENTRIES``."""
        found: list[tuple[str, os.stat_result]] = []
        pending = [""]
        while pending and len(found) < MAX_ENTRIES:
            relative = pending.pop()
            try:
                with os.scandir(self._place / relative) as entries:
                    for entry in entries:
                        path = f"{relative}/{entry.name}" if relative else entry.name
                        if not entry.is_dir(follow_symlinks=False):
                            found.append((path, entry.stat(follow_symlinks=False)))
                        elif entry.name not in _PASSED_OVER and len(pending) < MAX_ENTRIES:
                            pending.append(path)
            except OSError:  # a folder that is gone, or that the agent has closed to itself
                continue
        return sorted(found[:MAX_ENTRIES])


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    """Differs when the file was written or replaced: nobody can set ``ctime``."""
    return (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _read(path: Path) -> bytes:
    descriptor = os.open(str(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_FILE_BYTES)


def _shown(path: str) -> str:
    """A name as text that a frame can carry."""
    return path.encode("utf-8", "replace").decode("utf-8")[:MAX_NAME_CHARACTERS]
