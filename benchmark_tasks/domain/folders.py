"""Read untrusted folders: paths that stay inside them, regular files only, limited sizes. No Django here."""

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
"""Limit for files that are parsed: parsing takes many times their size in memory."""
MAXIMUM_NAME: Final = 300

LFS_ADVICE: Final = "is a Git LFS pointer; fetch the file with 'git lfs pull' and import again"
LFS_NOT_NEEDED: Final = "Git LFS files were not fetched; the sealed tests do not need them"
_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_LFS_MAXIMUM: Final = 1024  # bytes: the largest pointer file, by its specification
_SKIPPED_FOLDERS: Final = frozenset({".git", "__pycache__", "__MACOSX", ".ipynb_checkpoints"})
_SKIPPED_FILES: Final = frozenset({".DS_Store", "Thumbs.db"})


class PathLeavesFolderError(Exception):
    """Raised for a path that leads out of its folder, by itself or through a symbolic link."""


class UnusableFileError(Exception):
    """Raised for a file that is missing or unusable. The message continues a sentence that begins with its name."""


@dataclass(slots=True)
class Listing:
    """A folder's regular files (path -> size in bytes), and what was left out: (path, reason)."""

    sizes: dict[str, int] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    total: int = 0
    too_big: str = ""
    """The first file above the size limit."""

    def add(self, name: str, size: int) -> None:
        """Add one file."""
        self.sizes[name] = size
        self.total += size
        if size > MAXIMUM_FILE_BYTES and not self.too_big:
            self.too_big = name

    def drop(self, name: str) -> None:
        """Remove a file, if it is listed."""
        self.total -= self.sizes.pop(name, 0)

    @property
    def excess(self) -> str:
        """Why the folder is too big to import, or an empty text."""
        if len(self.sizes) > MAXIMUM_TREE_FILES:
            return f"holds more than {MAXIMUM_TREE_FILES} files"
        if self.total > MAXIMUM_TREE_BYTES:
            return f"holds more than {MAXIMUM_TREE_BYTES // 1024**2} MB"
        return f"holds a file of more than {MAXIMUM_FILE_BYTES // 1024**2} MB ({self.too_big})" if self.too_big else ""


def clean_relative_path(text: str) -> str:
    """Normalise a path (``./a//b`` -> ``a/b``). Raises PathLeavesFolderError unless it stays in its folder."""
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in text or not text.isprintable():
        message = f"{text!r} is not a path inside its folder: use a relative path with '/', without '..'"
        raise PathLeavesFolderError(message)
    return str(path)


def locate(folder: Path, relative: str) -> Path:
    """Return the path of ``relative`` below ``folder``, which must already be resolved.

    Raises PathLeavesFolderError if a symbolic link leads out of the folder, UnusableFileError if one leads elsewhere
    inside it.
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
    """Return the path of a readable regular file below ``folder`` that is not a Git LFS pointer.

    ``limit`` is the largest permitted size in bytes. Raises PathLeavesFolderError or UnusableFileError.
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
    """Read a file that :func:`regular_file` accepts. Raises PathLeavesFolderError or UnusableFileError."""
    path = regular_file(folder, relative, limit=limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnusableFileError(f"cannot be read ({error.strerror})") from error


def is_folder(folder: Path, relative: str) -> bool:
    """Return whether ``relative`` is a folder below ``folder``. Raises PathLeavesFolderError or UnusableFileError."""
    try:
        return stat.S_ISDIR(locate(folder, relative).lstat().st_mode)
    except OSError:
        return False


def list_files(folder: Path) -> Listing:
    """List every regular file below ``folder``, ignoring version control, caches and files of desktop programs.

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
    """Return the Git LFS pointers among the files that :func:`list_files` found below ``folder``."""
    found = []
    for name, size in sizes.items():
        try:
            if size <= _LFS_MAXIMUM and is_lfs_pointer(folder / name):
                found.append(name)
        except OSError:
            continue  # storing the file reports that it cannot be read
    return tuple(found)


def is_lfs_pointer(path: Path) -> bool:
    """Return whether ``path`` is the pointer that Git LFS leaves in place of an unfetched file. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(_LFS_POINTER)) == _LFS_POINTER


def _is_litter_file(name: str) -> bool:
    return name in _SKIPPED_FILES or name.startswith("._") or name.endswith(".pyc")


def _state(folder: Path, relative: Path, listing: Listing) -> os.stat_result | None:
    """Return the state of a file or folder to import; otherwise None, with the reason added to ``listing``."""
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
