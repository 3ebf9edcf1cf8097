"""Packing a folder on this machine, so that it goes the way of every upload."""

from __future__ import annotations

import os
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from submissions.answers.archives import MAX_FILE_BYTES
from submissions.answers.tree_answers import CACHES, noise_of_name
from submissions.exceptions import SubmissionError
from submissions.upload_limits import tree_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

_EPOCH = (2026, 1, 1, 0, 0, 0)


@contextmanager
def packed(path: Path) -> Iterator[Path]:
    """``path`` itself if it is a file; a folder as a zip file that is removed afterwards.

    Links, special files, caches and files that are too long to be code stay out of it. Raises SubmissionError for a
    folder of more files than an output tree may have.
    """
    if not path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="lmr-pack-") as scratch:
        target = Path(scratch, "folder.zip")
        _pack(path, target)
        yield target


def _pack(folder: Path, target: Path) -> None:
    most = tree_limits().members
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number, (name, file) in enumerate(_files(folder), start=1):
            if number > most:
                msg = f"{folder} holds more than {most} files; remove data and caches, or raise OUTPUT_TREE_FILES."
                raise SubmissionError(msg)
            entry = zipfile.ZipInfo(name, _EPOCH)
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name in the archive and place of every file that is packed, in the order of names."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if noise_of_name(f"{name}/x.py") != CACHES)
        for name in sorted(names):
            file = Path(place, name)
            is_kept = not file.is_symlink() and file.is_file() and file.stat().st_size <= MAX_FILE_BYTES
            relative = file.relative_to(folder).as_posix()
            if is_kept and relative.isprintable() and noise_of_name(name) != CACHES:
                yield relative, file
