"""Scratch folders: each process has its own, and what a dead one left is swept."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.queue.reconcile import reconcile
from evaluator.sandbox.configuration import scratch_folder, sweep_scratch
from evaluator.sandbox.ownership import Owner

if TYPE_CHECKING:
    from pathlib import Path


def dead_owner() -> str:
    """The name of a process that was and is no more."""
    told = subprocess.run(
        [sys.executable, "-c", "from evaluator.sandbox.ownership import Owner; print(Owner.current())"],
        capture_output=True, check=True,
    )  # fmt: skip
    return told.stdout.decode().strip()


def test_only_what_dead_processes_left_is_swept(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    assert sweep_scratch() == 0
    mine = scratch_folder()
    assert mine == tmp_path / "work" / str(Owner.current())
    (mine / "tree").mkdir()
    left, other = tmp_path / "work" / dead_owner(), tmp_path / "work" / "something-else"
    (left / "tree").mkdir(parents=True)
    (left / "tree" / "file").write_text("x")
    other.mkdir()
    assert sweep_scratch() == 1
    assert sorted((tmp_path / "work").iterdir()) == sorted([mine, other])
    assert (mine / "tree").is_dir()


@pytest.mark.django_db
def test_the_sweep_does_it(settings: Any, redis_url: str) -> None:
    left = settings.DATA_DIR / "work" / dead_owner()
    left.mkdir(parents=True)
    reconcile()
    assert not left.exists()
