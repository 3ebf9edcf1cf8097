"""The place of scratch folders, and the removal of those that killed processes left behind."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from django.conf import settings

from submissions.scratch import remove_tree

LEFT_BEHIND_AFTER: Final = timedelta(days=1)


def scratch_place() -> Path:
    """Return the folder where checks of uploads and other work create scratch folders; each removes its own."""
    place = Path(settings.DATA_DIR) / "checks"
    place.mkdir(parents=True, exist_ok=True)
    return place


def sweep() -> int:
    """Remove scratch folders older than a day; return how many."""
    latest = time.time() - LEFT_BEHIND_AFTER.total_seconds()
    removed = 0
    for folder in scratch_place().iterdir():
        with suppress(OSError):
            if folder.stat().st_mtime < latest:
                remove_tree(folder)
                removed += 1
    return removed
