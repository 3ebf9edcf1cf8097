"""Which functions can be tested remotely, and what is said of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.goals import Goal
from evaluator.testing.upstream import Mode, UpstreamTask, choose_mode

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.sandbox.types import Sandbox


def small_task(root: Path, goal: str, test: str, **changed: str) -> UpstreamTask:
    """A repository of one goal file and one test file; only the reference matters here."""
    tree = root / "reference"
    (tree / "unit_test").mkdir(parents=True)
    (tree / "goal.py").write_text(goal)
    (tree / "unit_test" / "unit_test_1.py").write_text(test)
    return UpstreamTask(
        goal=Goal("small/1", changed.get("goal_file", "goal.py"), "goal", changed.get("class_name", "")),
        repository=tree,
        grading=root,
        repository_name="small",
        unit_test_file="unit_test/unit_test_1.py",
        environment="numpy",
        wall_seconds=60.0,
        memory_bytes=2**30,
    )


@pytest.mark.parametrize(
    ("goal", "changed", "why"),
    [
        ("def goal(): pass", {"goal_file": "unit_test/unit_test_1.py"}, "stands in the unit test file itself"),
        ("class goal: pass", {"class_name": "goal"}, "a whole class"),
        ("class A:\n    def goal(self): pass", {"class_name": "A"}, "is a method"),
        ("def outer():\n    def goal(): pass", {}, "is no plain function at module level"),
        ("async def goal(): pass", {}, "is no plain function at module level"),
        ("x = 1", {}, "cannot be found in goal.py"),
    ],
)
def test_what_the_files_say_against_it(
    goal: str, changed: dict[str, str], why: str, tmp_path: Path, unused_sandbox: Sandbox
) -> None:
    task = small_task(tmp_path, goal, "", **changed)
    choice = choose_mode(sandbox=unused_sandbox, task=task, scratch=tmp_path, label="mode")
    assert choice.mode is Mode.IN_PROCESS
    assert why in choice.why


@pytest.fixture
def unused_sandbox() -> Sandbox:
    """No box is needed to refuse by reading."""
    return None  # type: ignore[return-value]


RANDOM = (
    "import numpy as np, random\n"
    "from goal import goal\n"
    "np.random.seed(7); random.seed(7)\n"
    "found = [goal(), goal()]\n"
    "np.random.seed(7); random.seed(7)\n"
    "assert found == [random.random() + np.random.rand(), random.random() + np.random.rand()]\n"
)


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("goal", "test", "mode", "why"),
    [
        (
            "import numpy, random\ndef goal(): return random.random() + numpy.random.rand()",
            RANDOM,
            Mode.REMOTE,
            "plain data",
        ),
        (
            "def goal(x): return x",
            "from goal import goal\nassert goal(print)",
            Mode.IN_PROCESS,
            "the arguments cannot be serialised: a builtins.builtin_function_or_method is not data",
        ),
        (
            "def goal(): yield 1",
            "import goal\nassert list(goal.goal()) == [1]",
            Mode.IN_PROCESS,
            "the result cannot be serialised: PayloadError: a builtins.generator is not data",
        ),
        (
            "called = []\ndef goal(): called.append(1); return 1",
            "import goal\ngoal.goal()\nassert goal.called == [1]",
            Mode.IN_PROCESS,
            "with its goal in another box the reference fails: unit_test_1.py: AssertionError",
        ),
    ],
    ids=["random numbers", "argument", "result", "state"],
)
def test_what_the_reference_shows(
    goal: str, test: str, mode: Mode, why: str, bubblewrap: Sandbox, tmp_path: Path
) -> None:
    task = small_task(tmp_path, goal + "\n", test)
    choice = choose_mode(sandbox=bubblewrap, task=task, scratch=tmp_path / "scratch", label="mode")
    assert choice.mode is mode, choice
    assert why in choice.why
