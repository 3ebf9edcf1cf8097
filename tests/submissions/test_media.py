"""Removing stored files that no row names."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile

from submissions.domain import media
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, UploadFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG_AGO = timedelta(days=1, minutes=1)


@pytest.fixture(autouse=True)
def _due(db: None) -> Iterator[None]:
    """Reset the daily sweep."""
    cache.clear()
    yield
    cache.clear()


def written(path: Path, *, ago: timedelta = LONG_AGO) -> Path:
    """Create a file that was last written ``ago``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    then = time.time() - ago.total_seconds()
    os.utime(path, (then, then))
    return path


def files_in(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if path.is_file()}


def test_files_without_a_row_are_removed_after_a_day(data_dir: Path) -> None:
    upload, submission, answer = UploadFactory(), SubmissionFactory(), ImplementationFactory()
    for row, field in ((upload, "file"), (upload, "result"), (submission, "bundle"), (answer, "trajectory")):
        getattr(row, field).save("x.bundle", ContentFile(b"kept"))
    named = {written(path) for path in (data_dir / "media").rglob("*.*") if path.is_file()}
    assert len(named) == 4
    folders = ("uploads", "bundles", "trajectories")
    orphans = [written(data_dir / "media" / name / "2026" / "01" / "a") for name in folders]
    young = written(data_dir / "media" / "uploads" / "young", ago=timedelta(hours=23))
    assert media.sweep() == 3
    assert [path.exists() for path in orphans] == [False] * 3
    assert files_in(data_dir / "media") == {str(path) for path in (*named, young)}


def test_scratch_folders_of_killed_checks_are_removed(data_dir: Path) -> None:
    old, young = (media.scratch_place() / name for name in ("lmr-check-old", "lmr-check-young"))
    for folder in (old, young):
        (folder / "tree").mkdir(parents=True)
        (folder / "tree").chmod(0o500)
    then = time.time() - LONG_AGO.total_seconds()
    os.utime(old, (then, then))
    assert media.sweep() == 1
    assert list(media.scratch_place().iterdir()) == [young]


def test_the_sweep_runs_once_a_day(data_dir: Path) -> None:
    written(data_dir / "media" / "uploads" / "a")
    assert media.sweep_when_due() == 1
    written(data_dir / "media" / "uploads" / "b")
    assert media.sweep_when_due() == 0
