"""What a task of the upstream protocol is made of, and the boxes that its test and its answers run in."""

from __future__ import annotations

import ast
import math
import os
import re
import secrets
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import find_goal
from benchmark_tasks.domain.python_source import SourceError
from evaluator.sandbox.trees import link_tree
from evaluator.sandbox.types import BoxSpec, Limits, Mount, SandboxError
from evaluator.testing import box
from evaluator.testing.box import frames
from submissions.answers.splice import splice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmark_tasks.domain.goals import Goal

DEFAULT_WALL_SECONDS = 600.0
DEFAULT_MEMORY_BYTES = 4096 * 1024 * 1024
WALL_PER_PROCESSOR_SECOND = 4
SLACK_BYTES = 256 * 1024 * 1024
"""How much a test may write beside its copy of the repository."""
SLACK_FILES = 8192
REPORT_BYTES = 64 * 1024 * 1024
TALK_BYTES = 256 * 1024 * 1024
"""How much a test and a remote goal may exchange in all."""
SERVE_SLACK_SECONDS = 30.0
SERVE_FILE_BYTES = 64 * 1024 * 1024

_FILES = Path(box.__file__).parent
_TEST = ("upstream_driver.py", "upstream_child.py", "upstream_watch.py", "frames.py")
_REMOTE = (*_TEST, "payloads.py", "remote.py")
_STUB = '''def {name}(*args, **kwargs):
    """Runs in another box."""
    import sys

    return sys.modules["lmr_board_remote"].call(__name__, args, kwargs)
'''


class Mode(StrEnum):
    """Where the goal function runs while its unit test does."""

    REMOTE = "remote"
    IN_PROCESS = "in_process"


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """How a task's answers are tested, and why so.

    In remote mode answers are held to what the reference did when the choice was made: ``copies_back`` says whether
    changes of arguments reach the test, ``returns`` what results may hold of ``upstream_relay.REFUSED``.
    """

    mode: Mode
    why: str
    copies_back: bool = False
    returns: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class UpstreamTask:
    """What the evaluator needs of one revision of the upstream protocol. Tests make it from folders.

    ``repository`` is the masked repository, ``grading`` the folder that the importer stored for grading.
    ``repository_name`` is what upstream calls the repository's folder, ``unit_test_file`` a path in it, ``search_path``
    folders in it whose packages are imported as if they were installed. Without ``cpu_seconds`` a box may compute all
    the time that it has.
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
        """The same with at most ``seconds`` of processor time; the wall's clock is generous, for busy machines."""
        wall = min(self.wall_seconds, WALL_PER_PROCESSOR_SECOND * seconds)
        return replace(self, cpu_seconds=seconds, wall_seconds=wall)


def test_box(task: UpstreamTask, *, tree: Path, label: str, remote: bool) -> tuple[BoxSpec, str]:
    """The box that runs the unit test in ``tree``, and the nonce that its hello must carry."""
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
    # The folder has upstream's name as far as it can be one in a box.
    has_name = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,100}", task.repository_name)
    folder = task.repository_name if has_name else "repository"
    span = None if remote else goal_span(task, tree)
    job = {
        "folder": folder,
        "unit_test": task.unit_test_file,
        "span": list(span) if span else None,
        "path": list(task.search_path),
    }
    return _spec(task, "grade" if remote else "test", _REMOTE if remote else _TEST, tree, job, limits, label)


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
    return _spec(task, "serve", _REMOTE, tree, {"goal": task.goal.function}, limits, label)


def goal_span(task: UpstreamTask, tree: Path) -> tuple[int, int] | None:
    """The goal's first and last line in the test file, where the two are one file; else None."""
    if task.goal.file != task.unit_test_file:
        return None
    try:
        found = find_goal((tree / task.goal.file).read_bytes(), task.goal)
    except (OSError, SourceError):
        return None
    return found.first_line, found.last_line


def _spec(
    task: UpstreamTask,
    mode: str,
    names: tuple[str, ...],
    tree: Path,
    job: Mapping[str, object],
    limits: Limits,
    label: str,
) -> tuple[BoxSpec, str]:
    nonce = secrets.token_hex(16)
    mounts = (*(Mount(_FILES / name, f"/box/{name}") for name in names), Mount(tree, "/box/repository"))
    argv = ("python", "/box/upstream_driver.py", mode, nonce)
    spec = BoxSpec(label, argv, mounts, stdin=frames.encode(job), limits=limits, environment=task.environment)
    return spec, nonce


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


@contextmanager
def test_tree(task: UpstreamTask, scratch: Path) -> Iterator[Path]:
    """The reference repository with its unit test, in which the goal function is only a stub.

    Raises :class:`SandboxError` when the reference has no such function at module level.
    """
    with _linked_copy(task.reference_repository, scratch) as tree:
        file = tree / task.goal.file
        try:
            text = splice(file.read_bytes(), task.goal, _STUB.format(name=task.goal.function).encode())
        except (OSError, SourceError) as error:
            raise SandboxError(f"{task.goal.task}: {task.goal.file} cannot be given a stub: {error}") from error
        file.unlink()
        file.write_bytes(text)
        yield tree


@contextmanager
def answer_tree(source: Path, unit_test_file: str, scratch: Path) -> Iterator[Path]:
    """The repository ``source`` without its tests, their logs, and the files that only the test names."""
    with _linked_copy(source, scratch) as tree:
        test = PurePosixPath(unit_test_file)
        hidden = _named_only_by(tree, test)
        if len(test.parts) > 1:
            shutil.rmtree(tree / test.parent)
        else:
            (tree / test).unlink(missing_ok=True)
        for name in hidden:
            (tree / name).unlink(missing_ok=True)
        yield tree


@contextmanager
def _linked_copy(source: Path, scratch: Path) -> Iterator[Path]:
    """A copy that shares the files' content where it can; files must be replaced in it, never written."""
    with TemporaryDirectory(prefix="upstream-", dir=scratch) as folder:
        tree = Path(folder) / "tree"
        link_tree(source, tree, bytecode=True)
        Path(folder).chmod(0o755)  # a box's user must be able to pass
        yield tree


def _named_only_by(tree: Path, test: PurePosixPath) -> list[PurePosixPath]:
    """Files outside the test's folder whose names stand in the test, and in no other source file."""
    try:
        parsed = ast.parse((tree / test).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    constants = (node.value for node in ast.walk(parsed) if isinstance(node, ast.Constant))
    texts = {value for value in constants if isinstance(value, str) and value}
    files = [PurePosixPath(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()]
    outside = [file for file in files if len(test.parts) == 1 or test.parent not in file.parents]
    data = [file for file in outside if file.suffix != ".py" and any(text.endswith(file.name) for text in texts)]
    sources = [(tree / file).read_bytes() for file in outside if file.suffix == ".py" and file != test] if data else []
    return [file for file in data if not any(file.name.encode() in source for source in sources)]
