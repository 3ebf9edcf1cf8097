"""Folders as environments take them: listed, hashed, and taken over by hard links, since they may hold gigabytes."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

_EVERYBODY_READS = 0o004
_SET_IDS = stat.S_ISUID | stat.S_ISGID


def tree_digest(root: Path) -> str:
    """SHA-256 over names and contents of all files below ``root`` but compiled modules, in order of their names.

    Of a symbolic link the target's name counts, as it may only mean something inside a box.
    """
    total = hashlib.sha256()
    for path, status in entries(root):
        if path.suffix == ".pyc" or stat.S_ISDIR(status.st_mode):
            continue
        if stat.S_ISLNK(status.st_mode):
            content = f"-> {path.readlink()}"
        else:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.relative_to(root)}\0{content}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def listing_digest(root: Path) -> str:
    """SHA-256 over the names, sizes and times of what is below ``root``: quick, and enough to notice a change.

    Bytecode is left out: Python may write it at any time.
    """
    total = hashlib.sha256()
    for path, status in entries(root):
        if path.suffix == ".pyc" or stat.S_ISDIR(status.st_mode):
            continue
        fact = str(path.readlink()) if stat.S_ISLNK(status.st_mode) else f"{status.st_size}\0{status.st_mtime_ns}"
        total.update(f"{path.relative_to(root)}\0{fact}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def link_tree(source: Path, target: Path, *, bytecode: bool, private: bool) -> None:
    """Make ``target`` hold what ``source`` holds, by hard links, and by copies where a link cannot be.

    A link keeps what was linked when the file is replaced in ``source``, as installers do. Sockets, pipes and devices
    are left out. Modes stay, but every folder can be entered, and no file keeps a set-user bit: others on this machine
    may pass through ``target``.

    Args:
        source: a folder.
        target: is made.
        bytecode: whether compiled modules are taken too.
        private: whether files that not everybody may read are taken, readable for everybody.

    Raises:
        OSError: the disk is full, or the source cannot be read.
    """
    target.mkdir(parents=True, exist_ok=True)
    target.chmod(0o755)
    for path, status in entries(source):
        place = target / path.relative_to(source)
        if stat.S_ISDIR(status.st_mode):
            place.mkdir(exist_ok=True)
            place.chmod(0o755)
        elif stat.S_ISLNK(status.st_mode):
            place.symlink_to(path.readlink())
        elif stat.S_ISREG(status.st_mode) and (bytecode or path.suffix != ".pyc"):
            is_open = bool(status.st_mode & _EVERYBODY_READS)
            if is_open and not status.st_mode & _SET_IDS:
                _link_or_copy(path, place)
            elif is_open or private:
                shutil.copyfile(path, place)
                shutil.copystat(path, place)
                place.chmod(0o555 if status.st_mode & 0o111 else 0o444)


def entries(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything below ``root`` in order of names, folders before what is in them; links are not followed."""
    with os.scandir(root) as found:
        inside = sorted(found, key=lambda entry: entry.name)
    for entry in inside:
        status = entry.stat(follow_symlinks=False)
        yield Path(entry.path), status
        if stat.S_ISDIR(status.st_mode):
            yield from entries(Path(entry.path))


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        # Another file system, too many links, or the kernel's protection of other users' files.
        shutil.copy2(source, target)
