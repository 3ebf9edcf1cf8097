"""Removing stored files that no row names, and what checks that were killed left behind."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.db import models

from submissions.answers.trees import remove_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

ORPHANED_AFTER = timedelta(days=1)
"""A file is stored before its row is: within this time it may yet get one."""
_BETWEEN_SWEEPS = timedelta(days=1)
_BATCH = 500


def scratch_place() -> Path:
    """Where checks of uploads put what they unpack; each removes its own."""
    place = Path(settings.DATA_DIR) / "checks"
    place.mkdir(parents=True, exist_ok=True)
    return place


def sweep_when_due() -> int:
    """Once a day, since it looks at every stored file: :func:`sweep`."""
    if not cache.add("media-swept", True, int(_BETWEEN_SWEEPS.total_seconds())):
        return 0
    return sweep()


def sweep() -> int:
    """Remove stored files and scratch folders that are older than a day and belong to nobody; return how many."""
    latest = time.time() - ORPHANED_AFTER.total_seconds()
    removed = 0
    for files in _batches(latest):
        kept = _named_in_rows(files)
        for name, path in files.items():
            if name not in kept:
                path.unlink(missing_ok=True)
                removed += 1
    for folder in scratch_place().iterdir():
        with suppress(OSError):
            if folder.stat().st_mtime < latest:
                remove_tree(folder)
                removed += 1
    return removed


def _batches(latest: float) -> Iterator[dict[str, Path]]:
    """Files below ``MEDIA_ROOT`` that were written before ``latest``, by the names under which rows know them."""
    batch: dict[str, Path] = {}
    root = Path(settings.MEDIA_ROOT)
    for path in root.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file() and path.stat().st_mtime < latest:
                batch[path.relative_to(root).as_posix()] = path
        if len(batch) == _BATCH:
            yield batch
            batch = {}
    if batch:
        yield batch


def _named_in_rows(files: dict[str, Path]) -> set[str]:
    kept: set[str] = set()
    for model, fields in _file_fields().items():
        for field in fields:
            found = model._base_manager.filter(**{f"{field}__in": list(files)})  # noqa: SLF001 - Django's documented API
            kept.update(found.values_list(field, flat=True))
    return kept


def _file_fields() -> dict[type[models.Model], list[str]]:
    found: defaultdict[type[models.Model], list[str]] = defaultdict(list)
    for model in apps.get_models():
        for field in model._meta.get_fields():  # noqa: SLF001 - the same
            if isinstance(field, models.FileField):
                found[model].append(field.name)
    return found
