"""Django's storage of uploaded and written files: each is in the content store, under the hash of its content."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import Storage

from benchmark_tasks.domain.content import ContentMissingError, file_path, put_file, put_pieces

_MEDIA: Final = "media"
"""The folder below ``DATA_DIR`` of files that versions before 2026-12 stored under names of their own."""


class ContentStorage(Storage):
    """Names files by their SHA-256. Equal files are one; the store's own sweep removes what no row names."""

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        """Store ``content`` and return its name; the one that was asked for is ignored. Raises as ``put_file`` does."""
        del name, max_length
        if content.seekable():
            content.seek(0)
        return put_pieces(content.chunks() if isinstance(content, File) else iter(lambda: content.read(1 << 20), b""))

    def path(self, name: str) -> str:
        """Return where the file can be read on this host. Raises ContentMissingError, StorageUnavailableError."""
        return str(file_path(name))

    def exists(self, name: str) -> bool:
        """Return whether the store has the file. Raises StorageUnavailableError."""
        try:
            file_path(name)
        except ContentMissingError:
            return False
        return True

    def size(self, name: str) -> int:
        """Return the file's size in bytes. Raises as :meth:`path` does."""
        return file_path(name).stat().st_size

    def delete(self, name: str) -> None:
        """Do nothing: another row may have a file with the same content."""

    def _open(self, name: str, mode: str = "rb") -> File[bytes]:
        return File(file_path(name).open(mode))


def adopt_media(model: Any, *fields: str) -> None:
    """Store the files that rows of ``model`` name below the old folder, and name them by their hashes.

    The old files stay. A row whose file is missing stays as it is.
    """
    folder = Path(settings.DATA_DIR) / _MEDIA
    for field in fields:
        for pk, name in model._base_manager.exclude(**{field: ""}).values_list("pk", field):  # noqa: SLF001 - Django's documented API
            if (folder / name).is_file():
                model._base_manager.filter(pk=pk).update(**{field: put_file(folder / name)})  # noqa: SLF001 - the same


def give_back_media(model: Any, *fields: str) -> None:
    """Undo :func:`adopt_media`: let the old folder have the stored files that rows of ``model`` name, by their hashes.

    Links where the file system can: code of either version only reads or removes a file. Raises as ``file_path`` does,
    except for missing files.
    """
    folder = Path(settings.DATA_DIR) / _MEDIA
    folder.mkdir(exist_ok=True)
    for field in fields:
        names = model._base_manager.exclude(**{field: ""}).order_by().values_list(field, flat=True)  # noqa: SLF001 - Django's documented API
        for name in names.distinct():
            if not (folder / name).exists():
                with suppress(ContentMissingError):
                    _link(file_path(name), folder / name)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
