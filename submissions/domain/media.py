"""Remove stored files that no row names, and scratch folders that killed checks left behind."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.db import models

from submissions.scratch import remove_tree

if TYPE_CHECKING:
    from collections.abc import Collection

ORPHANED_AFTER = timedelta(days=1)
"""Younger files are kept, since a file is stored before its row."""
_BETWEEN_SWEEPS = timedelta(days=1)
_BATCH = 500


def scratch_place() -> Path:
    """Return the folder where checks of uploads create their scratch folders; each removes its own."""
    place = Path(settings.DATA_DIR) / "checks"
    place.mkdir(parents=True, exist_ok=True)
    return place


def sweep_when_due() -> int:
    """Call :func:`sweep`, which visits every stored file, once a day."""
    if not cache.add("media-swept", True, int(_BETWEEN_SWEEPS.total_seconds())):
        return 0
    return sweep()


def sweep() -> int:
    """Remove orphaned stored files and scratch folders older than a day; return how many."""
    latest = time.time() - ORPHANED_AFTER.total_seconds()
    root = Path(settings.MEDIA_ROOT)
    old = [path for path in root.rglob("*") if path.is_file() and _is_older(path, latest)]
    removed = 0
    for first in range(0, len(old), _BATCH):
        files = {path.relative_to(root).as_posix(): path for path in old[first : first + _BATCH]}
        for name in files.keys() - _named_in_rows(files):
            files[name].unlink(missing_ok=True)
            removed += 1
    for folder in scratch_place().iterdir():
        if _is_older(folder, latest):
            with suppress(OSError):
                remove_tree(folder)
                removed += 1
    return removed


def _is_older(path: Path, latest: float) -> bool:
    """Return whether it was written before ``latest``; false if it no longer exists."""
    with suppress(FileNotFoundError):
        return path.stat().st_mtime < latest
    return False


def _named_in_rows(names: Collection[str]) -> set[str]:
    """Return those of ``names`` that a file field of any row has."""
    kept: set[str] = set()
    for model in apps.get_models():
        for field in model._meta.get_fields():  # noqa: SLF001 - Django's documented API
            if isinstance(field, models.FileField):
                found = model._base_manager.filter(**{f"{field.name}__in": list(names)})  # noqa: SLF001 - the same
                kept.update(found.values_list(field.name, flat=True))
    return kept
