"""The boxes of an upstream task: how large they are, what is mounted in them, what they are told first."""

from __future__ import annotations

import math
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import Goal, find_goal
from benchmark_tasks.domain.python_source import SourceError
from evaluator.sandbox.types import BoxSpec, Limits, Mount
from evaluator.testing import box
from evaluator.testing.box import frames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluator.testing.upstream_types import UpstreamTask

SLACK_BYTES = 256 * 1024 * 1024
"""How much a test may write beside its copy of the repository."""
SLACK_FILES = 8192
REPORT_BYTES = 64 * 1024 * 1024
TALK_BYTES = 192 * 1024 * 1024
"""How much may be said in all between a test and a remote goal."""
SERVE_SLACK_SECONDS = 30.0
SERVE_FILE_BYTES = 64 * 1024 * 1024

_FILES = Path(box.__file__).parent
_DRIVER = ("upstream_driver.py", "frames.py")
_TEST = (*_DRIVER, "upstream_child.py", "upstream_script.py", "upstream_watch.py")
_GRADE = (*_TEST, "travel.py", "remote_stub.py")
_SERVE = (*_DRIVER, "upstream_child.py", "travel.py", "remote_server.py")


def test_box(task: UpstreamTask, *, tree: Path, label: str, remote: bool) -> tuple[BoxSpec, str]:
    """The box that runs the unit test in ``tree``, and the nonce that its hello must carry."""
    span = None if remote else goal_span(task, tree)
    job = {"folder": folder_name(task), "unit_test": task.unit_test_file, "span": list(span) if span else None}
    size, files, largest = _measure(tree)
    limits = Limits(
        wall_seconds=task.wall_seconds,
        cpu_seconds=math.ceil(task.cpu_seconds or task.wall_seconds),
        memory_bytes=task.memory_bytes + size,
        tmpfs_bytes=size + SLACK_BYTES,
        tmpfs_files=files + SLACK_FILES,
        file_bytes=max(SLACK_BYTES, largest),
        output_bytes=TALK_BYTES if remote else REPORT_BYTES,
        open_files=1024,
    )
    mode, names = ("grade", _GRADE) if remote else ("test", _TEST)
    return _spec(task, mode, names, tree=tree, job=job, limits=limits, label=label)


def serve_box(task: UpstreamTask, *, tree: Path, label: str) -> tuple[BoxSpec, str]:
    """The box that answers calls of the goal function in ``tree``, and its nonce.

    It may live a little longer than the test that calls it, which it waits for.
    """
    limits = Limits(
        wall_seconds=task.wall_seconds + SERVE_SLACK_SECONDS,
        cpu_seconds=math.ceil(task.cpu_seconds or task.wall_seconds),
        memory_bytes=task.memory_bytes,
        file_bytes=SERVE_FILE_BYTES,
        output_bytes=TALK_BYTES,
        open_files=1024,
    )
    job = {"goal": task.goal_function}
    return _spec(task, "serve", _SERVE, tree=tree, job=job, limits=limits, label=label)


def goal_span(task: UpstreamTask, tree: Path) -> tuple[int, int] | None:
    """The goal's first and last line in the test file, where the two are one file; else None."""
    if task.goal_file != task.unit_test_file:
        return None
    goal = Goal(task.name, task.goal_file, task.goal_function, task.class_name)
    try:
        found = find_goal((tree / task.goal_file).read_bytes(), goal)
    except (OSError, SourceError):
        return None
    return found.first_line, found.last_line


def folder_name(task: UpstreamTask) -> str:
    """The repository folder's name as far as it can be one in a box, else ``repository``."""
    name = task.repository_name
    return name if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,100}", name) else "repository"


def _spec(
    task: UpstreamTask,
    mode: str,
    names: tuple[str, ...],
    *,
    tree: Path,
    job: Mapping[str, object],
    limits: Limits,
    label: str,
) -> tuple[BoxSpec, str]:
    nonce = secrets.token_hex(16)
    mounts = (*(Mount(_FILES / name, f"/box/{name}") for name in names), Mount(tree, "/box/repository"))
    argv = ("python", "/box/upstream_driver.py", mode, nonce)
    stdin = frames.encode(job)
    return BoxSpec(label, argv, mounts, stdin=stdin, limits=limits, environment=task.environment), nonce


def _measure(tree: Path) -> tuple[int, int, int]:
    """Bytes (in whole blocks), entries and the largest file's bytes of a tree."""
    size = entries = largest = 0
    for folder, names, files in os.walk(tree):
        entries += len(names) + len(files)
        for name in files:
            length = (Path(folder) / name).lstat().st_size
            size += -(-length // 4096) * 4096
            largest = max(largest, length)
    return size + entries * 256, entries, largest
