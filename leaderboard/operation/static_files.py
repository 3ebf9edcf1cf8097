"""Whether the static files must be collected again."""

from __future__ import annotations

import hashlib
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders


def static_fingerprint() -> str:
    """A digest of name, size and time of every static file, and of where and how they are collected.

    Collecting and compressing them all takes seconds, comparing this takes none.
    """
    collected = settings.STATIC_ROOT.is_dir()
    digest = hashlib.sha256(f"{settings.STORAGES['staticfiles']['BACKEND']} {collected}\n".encode())
    for finder in get_finders():
        for path, storage in sorted(finder.list([]), key=lambda found: found[0]):
            digest.update(f"{path}\0{_size_and_time(storage, path)}\n".encode())
    return digest.hexdigest()


def _size_and_time(storage: Any, path: str) -> str:
    return f"{storage.size(path)} {storage.get_modified_time(path).timestamp()}"
