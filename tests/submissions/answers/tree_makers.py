"""A small suite of masked repositories and the output trees that agents leave of it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import Goal
from submissions.answers.bundle import BundleReading, read_bundle
from submissions.answers.protection import TaskFiles
from submissions.answers.tree_answers import answers_of
from submissions.answers.tree_index import IndexedPaper, TreeIndex, mark_of
from submissions.answers.types import Manifest
from tests.submissions.answers.archive_makers import make_zip

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from submissions.answers.types import Problem, RawAnswer

SCORES = b'''"""Scores."""

import math


def first(x):
    """The first."""
    raise NotImplementedError


def helper(x):
    return x


def second(x):
    raise NotImplementedError
'''
IN_TEST = b"""import math

LIMIT = 3


def goal(x, n=1):
    raise NotImplementedError


def check():
    assert goal(1) == 1


if __name__ == "__main__":
    check()
"""
ALPHA: dict[str, bytes] = {
    "src/scores.py": SCORES,
    "src/other.py": b"def third(x):\n    raise NotImplementedError\n",
    "src/windows.py": b"A = 1\r\nB = 2\r\n",
    "unit_test/unit_test_1.py": b"from src.scores import first\n",
    "data/table.bin": b"\0\1\2",
    "README.md": b"Alpha.\n",
}
BETA: dict[str, bytes] = {"unit_test/unit_test_1.py": IN_TEST, "model.py": b"SIZE = 1\n"}
REPOSITORIES = {"alpha": ALPHA, "beta": BETA}
FOLDERS = {"alpha": "01-Alpha/alpha-repo/", "beta": "12-Beta/beta-repo/"}
GOALS = {
    "alpha/1": Goal("alpha/1", "src/scores.py", "first"),
    "alpha/2": Goal("alpha/2", "src/scores.py", "second"),
    "alpha/3": Goal("alpha/3", "src/other.py", "third"),
    "beta/1": Goal("beta/1", "unit_test/unit_test_1.py", "goal"),
}
DESCRIBED = Manifest("small", None, "Agent", "model", "none", "full", "", (), "")


def paper(slug: str, *, closed: dict[str, str] | None = None) -> IndexedPaper:
    folder, repository, _ = FOLDERS[slug].split("/")
    goals = dict.fromkeys(goal.file for task, goal in GOALS.items() if task.startswith(slug))
    files = {} if closed else {path: mark_of(content) for path, content in REPOSITORIES[slug].items()}
    return IndexedPaper(slug, folder, repository, tuple(goals), files, closed or {})


INDEX = TreeIndex("small", (paper("alpha"), paper("beta")))


def tree(
    alpha: Mapping[str, bytes | None] | None = None,
    beta: Mapping[str, bytes | None] | None = None,
    *,
    root: str = "",
    more: Mapping[str, bytes] | None = None,
) -> dict[str, bytes]:
    """Both masked repositories with these files changed (None removes one), and ``more`` beside them."""
    made: dict[str, bytes] = {}
    for slug, changes in (("alpha", alpha), ("beta", beta)):
        for path, content in {**REPOSITORIES[slug], **(changes or {})}.items():
            if content is not None:
                made[f"{root}{FOLDERS[slug]}{path}"] = content
    return made | dict(more or {})


def read(files: Mapping[str, bytes] | bytes, *, index: TreeIndex | None = INDEX) -> BundleReading:
    data = files if isinstance(files, bytes) else make_zip(files)
    return read_bundle(io.BytesIO(data), defaults=DESCRIBED, index=index)


def task_files(folder: Path) -> dict[str, TaskFiles]:
    """The masked repositories below ``folder``, as tasks."""
    for slug, files in REPOSITORIES.items():
        for path, content in files.items():
            target = folder / slug / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return {task: TaskFiles(goal=goal, repository=folder / task.split("/")[0]) for task, goal in GOALS.items()}


def answers(
    files: Mapping[str, bytes] | bytes, tasks: Mapping[str, TaskFiles]
) -> tuple[dict[str, RawAnswer], list[Problem]]:
    """The answers by task, and the remarks on tasks."""
    made: dict[str, RawAnswer] = {}
    remarks: list[Problem] = []
    reading = read(files)
    assert reading.problems == ()
    for folder in reading.trees:
        of_paper = {task: files for task, files in tasks.items() if task.startswith(folder.paper + "/")}
        found, said = answers_of(folder, of_paper)
        made |= {answer.task: answer for answer in found}
        remarks += said
    return made, remarks
