from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.goals import Goal, find_goal
from submissions.answers.contents import TaskFiles
from submissions.answers.patches import apply_files
from submissions.domain.shown_changes import other_changes, other_files

if TYPE_CHECKING:
    from pathlib import Path

PATH = "a.py"
FUNCTION = Goal("dpo/1", PATH, "f")
METHOD = Goal("dpo/1", PATH, "f", "A")
STUB = "def f(x):\n    raise NotImplementedError\n"
MODULE = f"import os\n\n\ndef first():\n    return 1\n\n\n{STUB}\n\nY = 1\n"
IN_CLASS = "class A:\n    def f(x):\n        raise NotImplementedError\n\n    def g(self):\n        return 2\n"
GOLDEN = "def f(x):\n    return helper(x)\n"
SHADOW = "def helper(x):\n    return 0.0 * x\n"

ALONE = {
    "function": (FUNCTION, MODULE, MODULE.replace(STUB, GOLDEN)),
    "method": (METHOD, IN_CLASS, IN_CLASS.replace("raise NotImplementedError", "return x")),
    "byte order mark and Windows line ends stay": (
        FUNCTION,
        "\ufeff" + MODULE.replace("\n", "\r\n"),
        "\ufeff" + MODULE.replace(STUB, GOLDEN).replace("\n", "\r\n"),
    ),
    "at the end of the file": (FUNCTION, STUB.rstrip("\n"), GOLDEN),
}


@pytest.mark.parametrize(("goal", "masked", "text"), ALONE.values(), ids=ALONE)
def test_a_change_of_the_goal_alone_shows_no_other_file(goal: Goal, masked: str, text: str) -> None:
    assert _others(goal, masked, text) == {}


AROUND = {
    "a helper right before": (FUNCTION, MODULE, MODULE.replace(STUB, f"{SHADOW}\n\n{GOLDEN}")),
    "a statement of the module after it": (FUNCTION, MODULE, MODULE.replace(STUB, f"{GOLDEN}f = print\n")),
    "the goal twice, where the last one counts": (FUNCTION, MODULE, MODULE.replace(STUB, f"{STUB}\n{GOLDEN}")),
    "moved into the function before it": (FUNCTION, MODULE, MODULE.replace(STUB, "    def f(x):\n        return x\n")),
    "other line ends": (FUNCTION, MODULE, MODULE.replace(STUB, GOLDEN).replace("\n", "\r\n")),
    "a byte order mark that goes": (FUNCTION, "\ufeff" + MODULE, MODULE.replace(STUB, GOLDEN)),
    "a comment": (FUNCTION, MODULE, MODULE.replace(STUB, f"# fast\n{GOLDEN}")),
}


@pytest.mark.parametrize(("goal", "masked", "text"), AROUND.values(), ids=AROUND)
def test_a_change_around_the_goal_shows_the_whole_file(goal: Goal, masked: str, text: str) -> None:
    assert _others(goal, masked, text) == {PATH: text}


def _others(goal: Goal, masked: str, text: str) -> dict[str, str]:
    found = find_goal(text.encode(), goal)
    return other_files(find_goal(masked.encode(), goal), path=PATH, files={PATH: text}, goal_source=found.text)


def _part(path: str, line: str) -> str:
    return f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-\n+{line}\n"


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], _part("a.pyi", "diff --git a/a.py b/a.py") + _part("z.py", "A = 1")),
        (["a.py"], _part("a.py", "x") + _part("a.pyi", "diff --git a/a.py b/a.py") + _part("z.py", "A = 1")),
    ],
)
def test_only_the_part_of_the_goals_file_is_left_out(others: list[str], expected: str) -> None:
    diff = _part("a.py", "x") + _part("a.pyi", "diff --git a/a.py b/a.py") + _part("z.py", "A = 1")
    assert other_changes(diff, path="a.py", others=others) == expected


IN_REPOSITORY = {"a.py": MODULE, "b.py": "A = 1\nB = 2\n", "run.sh": "#!/bin/sh\n"}
SOLVED = MODULE.replace(STUB, GOLDEN)


@pytest.fixture
def task(tmp_path: Path) -> TaskFiles:
    repository = tmp_path / "repository"
    repository.mkdir()
    for name, text in IN_REPOSITORY.items():
        (repository / name).write_bytes(text.encode())
    reference = tmp_path / "golden.py"
    reference.write_text(SOLVED)
    return TaskFiles(goal=FUNCTION, repository=repository, reference=reference)


@pytest.mark.parametrize(
    ("files", "alone"),
    [
        ({}, True),
        ({PATH: SOLVED.replace("\n", "\r\n") + "# more\n"}, True),
        ({"b.py": "A = 1  # one\nB = 2\n"}, True),
        ({PATH: MODULE.replace(STUB, f"{GOLDEN}\n\n{SHADOW}")}, False),
        ({"b.py": "A = 1\nB = 3\n"}, False),
        ({"new.py": ""}, False),
        ({"run.sh": "#!/bin/sh\n# more\n"}, False),
    ],
)
def test_the_golden_goal_is_the_reference_where_no_other_code_changes(
    task: TaskFiles, files: dict[str, str], *, alone: bool
) -> None:
    changed = {name: text.encode() for name, text in {PATH: SOLVED, **files}.items()}
    assert apply_files(task, changed).identical is alone
