"""Reading folders that other people made: names that stay inside, regular files only, bounded sizes. No Django here."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MAXIMUM_FILE_BYTES: Final = 64 * 1024 * 1024
MAXIMUM_TREE_BYTES: Final = 256 * 1024 * 1024
MAXIMUM_TREE_FILES: Final = 20_000
MAXIMUM_SOURCE_BYTES: Final = 4 * 1024 * 1024
"""Of files that are read for what they say: parsing takes many times their size in memory."""
MAXIMUM_NAME: Final = 300

LFS_ADVICE: Final = "is a Git LFS pointer; fetch the file with 'git lfs pull' and import again"

_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_LFS_MAXIMUM: Final = 1024  # bytes that a pointer file may have, by its specification
_SKIPPED_FOLDERS: Final = frozenset({".git", "__pycache__", "__MACOSX", ".ipynb_checkpoints"})
_SKIPPED_FILES: Final = frozenset({".DS_Store", "Thumbs.db"})


class PathLeavesFolderError(Exception):
    """A path leads out of the folder that it belongs to, by itself or through a symbolic link."""


class UnusableFileError(Exception):
    """A file is missing or cannot be used; the message continues a sentence that begins with its name."""


@dataclass(slots=True)
class Listing:
    """A folder's regular files (path to size in bytes), and what was left out: (path, why)."""

    sizes: dict[str, int] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    total: int = 0
    too_big: str = ""
    """The first file that is larger than one may be."""

    def add(self, name: str, size: int) -> None:
        """Take in one file."""
        self.sizes[name] = size
        self.total += size
        if size > MAXIMUM_FILE_BYTES and not self.too_big:
            self.too_big = name

    def drop(self, name: str) -> None:
        """Leave out a file, if there is one of that name."""
        self.total -= self.sizes.pop(name, 0)

    @property
    def excess(self) -> str:
        """Why the folder is too big to be taken, or an empty text."""
        if len(self.sizes) > MAXIMUM_TREE_FILES:
            return f"holds more than {MAXIMUM_TREE_FILES} files"
        if self.total > MAXIMUM_TREE_BYTES:
            return f"holds more than {MAXIMUM_TREE_BYTES // 1024**2} MB"
        return f"holds a file of more than {MAXIMUM_FILE_BYTES // 1024**2} MB ({self.too_big})" if self.too_big else ""


def clean_relative_path(text: str) -> str:
    """The path in one spelling (``./a//b`` -> ``a/b``). Raises PathLeavesFolderError unless it stays in its folder."""
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in text or not text.isprintable():
        message = f"{text!r} is not a path inside its folder: use a relative path with '/', without '..'"
        raise PathLeavesFolderError(message)
    return str(path)


def locate(folder: Path, relative: str) -> Path:
    """The place of ``relative`` below ``folder``, which must be resolved already.

    Raises PathLeavesFolderError where a symbolic link leads out, UnusableFileError where one leads elsewhere inside.
    """
    path = folder / relative
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError) as error:
        raise UnusableFileError(f"cannot be read ({error})") from error
    if not resolved.is_relative_to(folder):
        raise PathLeavesFolderError(f"{relative!r} leads out of its folder through a symbolic link")
    if resolved != path:
        raise UnusableFileError("is a symbolic link; replace it by the file itself")
    return path


def regular_file(folder: Path, relative: str, *, limit: int = MAXIMUM_FILE_BYTES) -> Path:
    """The place of a regular file below ``folder`` that can be read and is no Git LFS pointer.

    ``limit`` is its greatest size in bytes. Raises PathLeavesFolderError or UnusableFileError.
    """
    path = locate(folder, relative)
    try:
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode):
            raise UnusableFileError("is not a regular file")
        if state.st_size > limit:
            raise UnusableFileError(f"is larger than {limit // 1024**2} MB")
        if is_lfs_pointer(path):
            raise UnusableFileError(LFS_ADVICE)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnusableFileError("is missing") from error
    except OSError as error:
        raise UnusableFileError(f"cannot be read ({error.strerror})") from error
    return path


def read_regular(folder: Path, relative: str, *, limit: int = MAXIMUM_FILE_BYTES) -> bytes:
    """The bytes of such a file. Raises PathLeavesFolderError or UnusableFileError."""
    path = regular_file(folder, relative, limit=limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnusableFileError(f"cannot be read ({error.strerror})") from error


def is_folder(folder: Path, relative: str) -> bool:
    """Whether ``relative`` is a real folder below ``folder``. Raises PathLeavesFolderError or UnusableFileError."""
    try:
        return stat.S_ISDIR(locate(folder, relative).lstat().st_mode)
    except OSError:
        return False


def list_files(folder: Path) -> Listing:
    """Every regular file below ``folder``; version control, caches and desktop litter are passed over silently.

    Symbolic links, special files and unprintable names are listed as skipped. Stops when the folder is too big.
    """
    listing = Listing()

    def unreadable(error: OSError) -> None:
        name = Path(error.filename).relative_to(folder).as_posix()
        listing.skipped.append((name, f"cannot be read ({error.strerror}); left out"))

    for place, folders, files in os.walk(folder, onerror=unreadable):
        here = Path(place).relative_to(folder)
        kept = [name for name in sorted(folders) if name not in _SKIPPED_FOLDERS]
        folders[:] = [name for name in kept if _state(folder, here / name, listing) is not None]
        for name in sorted(files):
            state = None if _is_litter_file(name) else _state(folder, here / name, listing)
            if state is not None:
                listing.add((here / name).as_posix(), state.st_size)
        if listing.excess:
            break
    return listing


def pointers_among(folder: Path, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Which of the files that :func:`list_files` found below ``folder`` are Git LFS pointers."""
    found = []
    for name, size in sizes.items():
        try:
            if size <= _LFS_MAXIMUM and is_lfs_pointer(folder / name):
                found.append(name)
        except OSError:
            continue  # whoever stores the file says that it cannot be read
    return tuple(found)


def is_lfs_pointer(path: Path) -> bool:
    """Whether this is what Git LFS leaves where the real file was not fetched. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(_LFS_POINTER)) == _LFS_POINTER


def _is_litter_file(name: str) -> bool:
    return name in _SKIPPED_FILES or name.startswith("._") or name.endswith(".pyc")


def _state(folder: Path, relative: Path, listing: Listing) -> os.stat_result | None:
    """The state of what is taken; None, and why, for what is left out."""
    name = relative.as_posix()
    state = None
    if not name.isprintable() or "\\" in name or len(name) > MAXIMUM_NAME:
        why = "has a name that cannot be stored; left out"
    else:
        try:
            state = (folder / relative).lstat()
        except OSError as error:
            why = f"cannot be read ({error.strerror}); left out"
        else:
            why = _why_not(state.st_mode)
    if why:
        listing.skipped.append((name.encode("utf-8", "backslashreplace").decode(), why))
    return None if why else state


def _why_not(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "is a symbolic link; left out"
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else "is neither a file nor a folder; left out"
