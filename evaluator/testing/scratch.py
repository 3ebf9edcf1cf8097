"""Folders for what is put together for boxes, and removing those of processes that were killed meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings

from evaluator.sandbox.ownership import Owner


def scratch_folder() -> Path:
    """Where this process puts trees together for boxes. It removes what it puts there; the folder itself stays."""
    folder = _place() / str(Owner.current())
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def sweep_scratch() -> int:
    """Remove the folders of dead processes with all that they left in them, and say how many there were."""
    swept = 0
    for folder in _place().iterdir() if _place().is_dir() else ():
        try:
            owner = Owner.parse(folder.name)
        except ValueError:
            continue
        if owner.is_dead():
            shutil.rmtree(folder, ignore_errors=True)
            swept += 1
    return swept


def _place() -> Path:
    return Path(settings.DATA_DIR) / "work"
