"""Store immutable files and folders (trees) below ``DATA_DIR/content``, each under the hash of its content.

Nothing in the store is changed in place: content is written to a temporary name beside it, made read-only and renamed.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from django.conf import settings

from benchmark_tasks.domain.folders import PathLeavesFolderError, clean_relative_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Content: TypeAlias = bytes | Path
"""A file's bytes, or the path of a regular file: whole repositories are never held in memory."""

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_PIECE: Final = 1024 * 1024
_CHANGED: Final = "it changed while it was read"


class ContentMissingError(Exception):
    """Raised when the store has no content with this hash; importing the suite again restores it."""


def tree_hash(files: Mapping[str, Content]) -> str:
    """Return the SHA-256 (hexadecimal) of sorted names and contents, each preceded by its length. Raises OSError."""
    digest = hashlib.sha256(b"tree\0")
    for name in sorted(files):
        for part in (name.encode(), files[name]):
            digest.update(_size(part).to_bytes(8, "big"))
            for piece in _pieces(part):
                digest.update(piece)
    return digest.hexdigest()


def file_hash(content: Content) -> str:
    """Return the SHA-256 (hexadecimal) of one file. Raises OSError."""
    digest = hashlib.sha256()
    for piece in _pieces(content):
        digest.update(piece)
    return digest.hexdigest()


def put_tree(files: Mapping[str, Content]) -> str:
    """Store a folder (clean relative path -> content) and return its hash. Storing it again costs only the hashing.

    Files that are already in the store are linked, not copied. Raises ValueError for a path that is not clean, or that
    is both a file and a folder; OSError if a file cannot be read or the disk is full.
    """
    _refuse_unclean(files)
    found = tree_hash(files)
    place = _place("trees", found)
    if not place.exists():
        draft = _draft(place)
        try:
            draft.mkdir(parents=True)
            _write_tree(draft, files)
            if tree_hash({name: draft / name for name in files}) != found:
                raise OSError(0, _CHANGED)
            _move_into_place(draft, place)
        finally:
            _delete_draft(draft)
    return found


def tree_path(tree: str) -> Path:
    """Return the read-only folder of a stored tree. Raises ContentMissingError."""
    return _existing(_place("trees", tree))


def tree_files(tree: str) -> dict[str, Path]:
    """Return the files of a stored tree by name, in the order of names. Raises ContentMissingError."""
    root = tree_path(tree)
    found = (Path(place) / name for place, _, names in os.walk(root) for name in names)
    return {path.relative_to(root).as_posix(): path for path in sorted(found)}


def put_file(content: Content) -> str:
    """Store one file and return the SHA-256 of its bytes. Raises OSError as :func:`put_tree` does."""
    found = file_hash(content)
    place = _place("files", found)
    if not place.exists():
        draft = _draft(place)
        try:
            draft.parent.mkdir(parents=True, exist_ok=True)
            _write(draft, content)
            if file_hash(draft) != found:
                raise OSError(0, _CHANGED)
            draft.rename(place)
        finally:
            draft.unlink(missing_ok=True)
    return found


def file_path(file: str) -> Path:
    """Return the path of a stored file, which is read-only. Raises ContentMissingError."""
    return _existing(_place("files", file))


def _store() -> Path:
    return Path(settings.DATA_DIR) / "content"


def _place(kind: str, found: str) -> Path:
    if not _HASH.fullmatch(found):
        raise ContentMissingError(f"{found!r} is no content hash")
    return _store() / kind / found[:2] / found


def _existing(place: Path) -> Path:
    if not place.exists():
        raise ContentMissingError(f"The content store has no {place.parent.parent.name[:-1]} {place.name}.")
    return place


def _draft(place: Path) -> Path:
    """Return a temporary path beside ``place``: a read-only folder can be renamed only within the same parent."""
    return place.with_name(f".{place.name[:12]}-{secrets.token_hex(6)}")


def _write_tree(draft: Path, files: Mapping[str, Content]) -> None:
    for name, content in files.items():
        path = draft / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _link(path, content):
            _write(path, content)
    for place, _, _ in os.walk(draft, topdown=False):
        Path(place).chmod(0o555)


def _link(path: Path, content: Content) -> bool:
    """Hard-link a file of the store, which never changes; return false if it has to be copied."""
    if isinstance(content, bytes) or not content.is_relative_to(_store()):
        return False
    try:
        path.hardlink_to(content)
    except OSError:
        return False
    return True


def _write(path: Path, content: Content) -> None:
    with path.open("wb") as file:
        for piece in _pieces(content):
            file.write(piece)
    path.chmod(0o444)


def _size(content: Content) -> int:
    return content.stat().st_size if isinstance(content, Path) else len(content)


def _pieces(content: Content) -> Iterator[bytes]:
    if not isinstance(content, Path):
        yield content
        return
    with content.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _move_into_place(draft: Path, place: Path) -> None:
    try:
        draft.rename(place)
    except OSError:
        # Another process stored the same content first; anything else is an error of the disk.
        if not place.exists():
            raise


def _delete_draft(draft: Path) -> None:
    if draft.exists():
        for place, _, _ in os.walk(draft):
            Path(place).chmod(0o755)
        shutil.rmtree(draft)


def _refuse_unclean(files: Mapping[str, Content]) -> None:
    folders = {str(parent) for name in files for parent in Path(name).parents}
    for name in files:
        try:
            clean = clean_relative_path(name) == name
        except PathLeavesFolderError:
            clean = False
        if not clean:
            raise ValueError(f"{name!r} is not a clean relative path")
        if name in folders:
            raise ValueError(f"{name!r} is both a file and a folder")
