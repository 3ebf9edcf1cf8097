"""List and copy folders of foreign files; compare two listings to see what a diff really did."""

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
    """One path that is not a folder, as ``lstat`` sees it. ``stamp`` differs when the file was written anew."""

    mode: int
    stamp: tuple[int, int, int]

    @property
    def is_regular(self) -> bool:
        """Whether this is a plain file: no link, device, pipe or socket."""
        return stat.S_ISREG(self.mode)

    @property
    def is_executable(self) -> bool:
        """Whether anybody may run the file."""
        return bool(self.mode & 0o111)


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder's entries by relative path (forward slashes), and its folders."""

    entries: Mapping[str, Entry]
    folders: frozenset[str]

    def changed_from(self, before: Tree) -> list[str]:
        """Every path that was added, removed or written since ``before``, sorted."""
        paths = self.entries.keys() | before.entries.keys()
        return sorted(path for path in paths if self.entries.get(path) != before.entries.get(path))


def copy_tree(repository: Path, target: Path, *, longest: int) -> list[str]:
    """Copy ``repository``, without git's own data and bytecode, times kept, links as links, writable for us.

    Of files longer than ``longest`` bytes, which no answer may change, only a hole that is longer is made; returns
    their paths.
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
        # A read-only checkout would else make every answer look as if it did not apply.
        os.chmod(folder, 0o700)  # noqa: PTH101 - os.walk gives strings
    return holes


def read_tree(folder: Path) -> Tree:
    """Everything below ``folder``, links not followed."""
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
