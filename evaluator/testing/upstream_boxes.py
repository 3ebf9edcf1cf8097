"""Define a task of the upstream protocol, and the box that runs its test and answers."""

from __future__ import annotations

import math
import os
import re
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import find_goal
from benchmark_tasks.domain.python_source import SourceError
from evaluator.sandbox.interface import BoxSpec, Limits, Mount
from evaluator.testing import box
from evaluator.testing.box import frames

if TYPE_CHECKING:
    from benchmark_tasks.domain.goals import Goal

DEFAULT_WALL_SECONDS = 600.0
DEFAULT_MEMORY_BYTES = 4096 * 1024 * 1024
WALL_PER_PROCESSOR_SECOND = 4
SLACK_BYTES = 256 * 1024 * 1024
"""How much a test may write besides its copy of the repository."""
SLACK_FILES = 8192
REPORT_BYTES = 64 * 1024 * 1024

_FILES = Path(box.__file__).parent
_DRIVER = ("upstream_driver.py", "upstream_child.py", "upstream_watch.py", "frames.py")


@dataclass(frozen=True, slots=True)
class UpstreamTask:
    """What the evaluator needs of one revision of the upstream protocol. Tests make it from folders.

    ``repository`` is the masked repository, ``grading`` the folder that the importer stored for grading.
    ``repository_name`` is upstream's name of the repository's folder, ``unit_test_file`` a path in it, ``search_path``
    folders in it whose packages are imported as if they were installed. Without ``cpu_seconds`` a box may use the
    processor all the time.
    """

    goal: Goal
    repository: Path
    grading: Path
    repository_name: str
    unit_test_file: str
    environment: str
    wall_seconds: float = DEFAULT_WALL_SECONDS
    memory_bytes: int = DEFAULT_MEMORY_BYTES
    cpu_seconds: float | None = None
    search_path: tuple[str, ...] = ()

    @property
    def reference_repository(self) -> Path:
        """The repository with the golden file in the goal file's place."""
        return self.grading / "reference"

    def limited(self, seconds: float) -> UpstreamTask:
        """Return the task with at most ``seconds`` of processor time; the wall-clock limit allows for busy machines."""
        wall = min(self.wall_seconds, WALL_PER_PROCESSOR_SECOND * seconds)
        return replace(self, cpu_seconds=seconds, wall_seconds=wall)


def test_box(task: UpstreamTask, *, tree: Path, label: str) -> tuple[BoxSpec, str]:
    """Return the box that runs the unit test in ``tree``, and the nonce that its hello must carry."""
    size, files, largest = _measure(tree)
    limits = Limits(
        wall_seconds=task.wall_seconds,
        cpu_seconds=math.ceil(task.cpu_seconds or task.wall_seconds),
        memory_bytes=task.memory_bytes + size,
        tmpfs_bytes=size + SLACK_BYTES,
        tmpfs_files=files + SLACK_FILES,
        file_bytes=max(SLACK_BYTES, largest),
        output_bytes=REPORT_BYTES,
        open_files=1024,
    )
    # The folder has upstream's name if that is valid in a box.
    has_name = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,100}", task.repository_name)
    folder = task.repository_name if has_name else "repository"
    span = goal_span(task, tree)
    job = {
        "folder": folder,
        "unit_test": task.unit_test_file,
        "span": list(span) if span else None,
        "path": list(task.search_path),
    }
    nonce = secrets.token_hex(16)
    mounts = (*(Mount(_FILES / name, f"/box/{name}") for name in _DRIVER), Mount(tree, "/box/repository"))
    argv = ("python", "/box/upstream_driver.py", nonce)
    spec = BoxSpec(label, argv, mounts, stdin=frames.encode(job), limits=limits, environment=task.environment)
    return spec, nonce


def goal_span(task: UpstreamTask, tree: Path) -> tuple[int, int] | None:
    """Return the goal's first and last line in the test file if the two are one file; else None."""
    if task.goal.file != task.unit_test_file:
        return None
    try:
        found = find_goal((tree / task.goal.file).read_bytes(), task.goal)
    except (OSError, SourceError):
        return None
    return found.first_line, found.last_line


def _measure(tree: Path) -> tuple[int, int, int]:
    """Return a tree's bytes (in whole blocks), entries, and the bytes of its largest file."""
    size = entries = largest = 0
    for folder, names, files in os.walk(tree):
        entries += len(names) + len(files)
        for name in files:
            length = (Path(folder) / name).lstat().st_size
            size += -(-length // 4096) * 4096
            largest = max(largest, length)
    return size + entries * 256, entries, largest
