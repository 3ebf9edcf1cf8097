"""Reading folders that other people made: names that stay inside, regular files only, bounded sizes. No Django here."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

MAXIMUM_FILE_BYTES: Final = 16 * 1024 * 1024
MAXIMUM_TREE_BYTES: Final = 128 * 1024 * 1024
MAXIMUM_TREE_FILES: Final = 5000
MAXIMUM_NAME: Final = 300

_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_SKIPPED_FOLDERS: Final = frozenset({".git", "__pycache__", "__MACOSX"})
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

    @property
    def excess(self) -> str:
        """Why the folder is too big to be taken, or an empty text."""
        if len(self.sizes) > MAXIMUM_TREE_FILES:
            return f"holds more than {MAXIMUM_TREE_FILES} files"
        if sum(self.sizes.values()) > MAXIMUM_TREE_BYTES:
            return f"holds more than {MAXIMUM_TREE_BYTES // 1024**2} MB"
        big = sorted(name for name, size in self.sizes.items() if size > MAXIMUM_FILE_BYTES)
        return f"holds a file of more than {MAXIMUM_FILE_BYTES // 1024**2} MB ({big[0]})" if big else ""


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


def read_regular(folder: Path, relative: str) -> bytes:
    """The bytes of a regular file below ``folder``. Raises PathLeavesFolderError or UnusableFileError."""
    path = locate(folder, relative)
    try:
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode):
            raise UnusableFileError("is not a regular file")
        if state.st_size > MAXIMUM_FILE_BYTES:
            raise UnusableFileError(f"is larger than {MAXIMUM_FILE_BYTES // 1024**2} MB")
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnusableFileError("is missing") from error
    except OSError as error:
        raise UnusableFileError(f"cannot be read ({error.strerror})") from error
    if data.startswith(_LFS_POINTER):
        raise UnusableFileError("is only a Git LFS pointer; fetch the file with 'git lfs pull'")
    return data


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
        folders[:] = [name for name in kept if not _skipped(folder, here / name, listing)]
        for name in sorted(files):
            wanted = name not in _SKIPPED_FILES and not name.endswith(".pyc")
            if wanted and not _skipped(folder, here / name, listing):
                listing.sizes[(here / name).as_posix()] = (folder / here / name).lstat().st_size
        if listing.excess:
            break
    return listing


def read_files(folder: Path, names: list[str]) -> dict[str, bytes]:
    """The bytes of files that :func:`list_files` named. Raises UnusableFileError for one that cannot be read."""
    found = {}
    for name in names:
        try:
            found[name] = (folder / name).read_bytes()
        except OSError as error:
            raise UnusableFileError(f"{name} cannot be read ({error.strerror})") from error
    return found


def is_lfs_pointer(data: bytes) -> bool:
    """Whether this is what Git LFS leaves where the real file was not fetched."""
    return data.startswith(_LFS_POINTER)


def _skipped(folder: Path, relative: Path, listing: Listing) -> bool:
    name = relative.as_posix()
    why = ""
    if not name.isprintable() or "\\" in name or len(name) > MAXIMUM_NAME:
        why = "has a name that cannot be stored; left out"
    else:
        mode = (folder / relative).lstat().st_mode
        if stat.S_ISLNK(mode):
            why = "is a symbolic link; left out"
        elif not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            why = "is neither a file nor a folder; left out"
    if why:
        listing.skipped.append((name.encode("utf-8", "backslashreplace").decode(), why))
    return bool(why)
