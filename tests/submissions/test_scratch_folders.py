"""Removing the scratch folders of killed processes."""

from __future__ import annotations

import os
import time

from submissions.domain import scratch_folders

DAY = 24 * 3600


def test_scratch_folders_of_killed_processes_are_removed_after_a_day() -> None:
    old, young = (scratch_folders.scratch_place() / name for name in ("lmr-check-old", "lmr-check-young"))
    for folder, age in ((old, DAY + 60), (young, DAY - 60)):
        (folder / "tree").mkdir(parents=True)
        (folder / "tree").chmod(0o500)
        os.utime(folder, (time.time() - age,) * 2)
    assert scratch_folders.sweep() == 1
    assert list(scratch_folders.scratch_place().iterdir()) == [young]
