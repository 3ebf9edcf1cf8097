"""The content store: immutable files and trees below ``DATA_DIR/content``, each under the hash of what it holds.

Nothing here is ever changed in place: a folder appears whole (written beside, then renamed) and read-only.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.conf import settings

from benchmark_tasks.domain.folders import PathLeavesFolderError, clean_relative_path

if TYPE_CHECKING:
    from collections.abc import Mapping

_HASH: Final = re.compile(r"[0-9a-f]{64}")


class ContentMissingError(Exception):
    """The store has nothing under this hash; import the suite again."""


def tree_hash(files: Mapping[str, bytes]) -> str:
    """SHA-256 (hexadecimal) over the sorted names and contents, each preceded by its length."""
    digest = hashlib.sha256(b"tree\0")
    for name in sorted(files):
        for part in (name.encode(), files[name]):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


def put_tree(files: Mapping[str, bytes]) -> str:
    """Store a folder (clean relative path to bytes) and return its hash. Storing it again costs only the hashing.

    Raises ValueError for a path that is not clean, or that is both a file and a folder.
    """
    _refuse_unclean(files)
    found = tree_hash(files)
    place = _place("trees", found)
    if not place.exists():
        draft = _draft(place)
        try:
            draft.mkdir(parents=True)
            _write_tree(draft, files)
            _appear(draft, place)
        finally:
            _discard(draft)
    return found


def tree_path(tree: str) -> Path:
    """The read-only folder of a stored tree. Raises ContentMissingError."""
    return _existing(_place("trees", tree))


def tree_files(tree: str) -> dict[str, Path]:
    """The files of a stored tree in the order of their names. Raises ContentMissingError."""
    root = tree_path(tree)
    found = (Path(place) / name for place, _, names in os.walk(root) for name in names)
    return {path.relative_to(root).as_posix(): path for path in sorted(found)}


def put_file(data: bytes) -> str:
    """Store one file and return the SHA-256 of its bytes."""
    found = hashlib.sha256(data).hexdigest()
    place = _place("files", found)
    if not place.exists():
        draft = _draft(place)
        try:
            draft.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(data)
            draft.chmod(0o444)
            draft.rename(place)
        finally:
            draft.unlink(missing_ok=True)
    return found


def file_path(file: str) -> Path:
    """The read-only place of a stored file. Raises ContentMissingError."""
    return _existing(_place("files", file))


def _place(kind: str, found: str) -> Path:
    if not _HASH.fullmatch(found):
        raise ContentMissingError(f"{found!r} is no content hash")
    return Path(settings.DATA_DIR) / "content" / kind / found[:2] / found


def _existing(place: Path) -> Path:
    if not place.exists():
        raise ContentMissingError(f"The content store has no {place.parent.parent.name[:-1]} {place.name}.")
    return place


def _draft(place: Path) -> Path:
    """A name beside the final one: renaming a read-only folder is only allowed within the same parent."""
    return place.with_name(f".{place.name[:12]}-{secrets.token_hex(6)}")


def _write_tree(draft: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = draft / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o444)
    for place, _, _ in os.walk(draft, topdown=False):
        Path(place).chmod(0o555)


def _appear(draft: Path, place: Path) -> None:
    try:
        draft.rename(place)
    except OSError:
        # Another process stored the same content first; anything else is a fault of the disk.
        if not place.exists():
            raise


def _discard(draft: Path) -> None:
    if draft.exists():
        for place, _, _ in os.walk(draft):
            Path(place).chmod(0o755)
        shutil.rmtree(draft)


def _refuse_unclean(files: Mapping[str, bytes]) -> None:
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
