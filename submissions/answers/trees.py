"""List and copy folders of untrusted files, and compare two listings to find what a diff changed."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Entry:
    """A path other than a folder, as ``lstat`` reports it. ``stamp`` changes when the file is rewritten."""

    mode: int
    stamp: tuple[int, int, int]

    @property
    def is_regular(self) -> bool:
        """Return whether this is a regular file: no link, device, pipe or socket."""
        return stat.S_ISREG(self.mode)

    @property
    def is_executable(self) -> bool:
        """Return whether the file has any execute permission."""
        return bool(self.mode & 0o111)


@dataclass(frozen=True, slots=True)
class Tree:
    """The entries of a folder by relative path (forward slashes), and its subfolders."""

    entries: Mapping[str, Entry]
    folders: frozenset[str]

    def changed_from(self, before: Tree) -> list[str]:
        """Return every path that was added, removed or written since ``before``, sorted."""
        paths = self.entries.keys() | before.entries.keys()
        return sorted(path for path in paths if self.entries.get(path) != before.entries.get(path))


def copy_tree(repository: Path, target: Path, *, longest: int) -> list[str]:
    """Copy ``repository`` without ``.git`` and bytecode, keeping times and links, with writable folders.

    Files longer than ``longest`` bytes, which answers may not change, become longer sparse files; return their paths.
    """
    holes: list[str] = []

    def copy(source: str, place: str) -> str:
        if os.lstat(source).st_size <= longest:
            return shutil.copy2(source, place, follow_symlinks=False)
        with open(place, "wb") as hole:  # noqa: PTH123 - shutil gives strings
            hole.truncate(longest + 1)
        holes.append(os.path.relpath(place, target))
        return place

    ignored = shutil.ignore_patterns(".git", "__pycache__")
    shutil.copytree(repository, target, symlinks=True, ignore=ignored, copy_function=copy)
    for folder, _, _ in os.walk(target):
        # With a read-only checkout, no answer would apply.
        os.chmod(folder, 0o700)  # noqa: PTH101 - os.walk gives strings
    return holes


def read_tree(folder: Path) -> Tree:
    """List everything below ``folder`` without following links."""
    entries: dict[str, Entry] = {}
    folders: set[str] = set()
    pending = [""]
    while pending:
        relative = pending.pop()
        with os.scandir(folder / relative) as found:
            for item in found:
                path = f"{relative}/{item.name}" if relative else item.name
                status = item.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    folders.add(path)
                    pending.append(path)
                else:
                    stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
                    entries[path] = Entry(mode=status.st_mode, stamp=stamp)
    return Tree(entries=entries, folders=frozenset(folders))
