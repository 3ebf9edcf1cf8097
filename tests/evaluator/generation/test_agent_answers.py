"""From what an agent left to an answer: the difference of its repository, by the rules for uploaded diffs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark_tasks.domain.goals import Goal
from evaluator.enums import AnswerTaken
from evaluator.generation.agent import AgentResult
from evaluator.generation.agent_answers import read_result
from evaluator.generation.agent_box import Changes
from evaluator.generation.answers import Answer
from submissions.answers.types import TaskFiles
from submissions.trajectories.steps import AgentRun
from tests.evaluator.generation.agent_runs import FILES, GOLDEN, make_task

SOLVED = {"ranking/goal.py": GOLDEN.encode()}


@pytest.fixture
def task(tmp_path: Path) -> TaskFiles:
    made = make_task(tmp_path)
    return TaskFiles(goal=Goal("ranking/1", "ranking/goal.py", "rank"), repository=made.repository)


def answer(task: TaskFiles, changes: Changes, *, finished: bool = True, is_definition: bool = False) -> Answer:
    result = AgentResult(changes, AgentRun("agent"), finished, "It ended.", is_definition)
    return read_result(result, task)


def test_the_difference_is_applied_and_the_rest_is_set_aside_and_said(task: TaskFiles) -> None:
    changed = {
        **SOLVED,
        "ranking/helpers.py": FILES["ranking/helpers.py"].replace("max", "min").encode(),
        "ranking/more.py": b"more = 1\n",
        "tests/test_goal.py": b"def test_rank():\n    pass\n",
        "conftest.py": b"x = 1\n",
        "out.log": b"text\n",
        "data.json": b"\x00",
        "numpy.py": b"x = 1\n",
        "b c.py ": b"x = 1\n",
    }
    made = answer(task, Changes(changed, ("README.md",), (("link", "is a link or special file"),)))
    assert (made.taken, made.note, made.error) == (AnswerTaken.CODE, "Taken from the agent's repository. It ended.", {})
    assert made.applied is not None
    assert sorted(made.applied.files) == ["ranking/goal.py", "ranking/helpers.py", "ranking/more.py"]
    assert made.applied.files["ranking/goal.py"] == GOLDEN
    assert made.text.startswith("diff --git a/ranking/goal.py b/ranking/goal.py\n")
    protected = "is protected (tests, configuration and what Python loads by itself are not part of an answer)"
    assert {aside["file"]: aside["message"] for aside in made.aside} == {
        "link": "Not applied: it is a link or special file.",
        "tests/test_goal.py": f"Not applied: it {protected}.",
        "conftest.py": f"Not applied: it {protected}.",
        "out.log": "Not applied: it is one of: logs and results.",
        "data.json": "Not applied: it is one of: binary files.",
        "numpy.py": "Not applied: it would hide the installed module 'numpy'.",
        "b c.py ": "Not applied: it has a part that begins or ends with a space or ends with a dot.",
        "the agent's repository": "Deleted files are put back: 1 (README.md).",
    }


@pytest.mark.parametrize(("finished", "taken"), [(True, AnswerTaken.EMPTY), (False, AnswerTaken.LIMIT)])
def test_an_unchanged_goal_was_not_attempted(task: TaskFiles, *, finished: bool, taken: AnswerTaken) -> None:
    made = answer(task, Changes({"ranking/helpers.py": b"x = 1\n"}), finished=finished)
    assert (made.taken, made.applied, made.note) == (taken, None, "The goal is as it was masked. It ended.")
    assert made.error["message"] == made.note


@pytest.mark.parametrize("is_definition", [True, False])
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (Changes(deleted=("ranking/goal.py",)), "ranking/goal.py, which holds the goal, was deleted."),
        (Changes({"ranking/goal.py": b"def rank(:\n"}), "invalid syntax"),
    ],
)
def test_a_goal_that_is_gone_or_no_python_is_a_bad_answer(
    task: TaskFiles, changes: Changes, why: str, *, is_definition: bool
) -> None:
    made = answer(task, changes, is_definition=is_definition)
    assert (made.taken, made.applied) == (AnswerTaken.CODE, None)
    assert why in made.error["message"]


def test_a_definition_alone_is_put_into_its_place(task: TaskFiles) -> None:
    content = b"import math\n\n\ndef rank(scores):\n    return [math.floor(score) for score in scores]\n"
    made = answer(task, Changes({"ranking/goal.py": content, "try.py": b"x\n"}), is_definition=True)
    assert made.applied is not None
    assert list(made.applied.files) == ["ranking/goal.py"]
    assert "from ranking.helpers import shift" in made.applied.files["ranking/goal.py"]
    assert "math.floor" in made.applied.goal_source
    assert made.aside == [
        {"message": "Not applied: it is not the definition, which alone was asked for.", "file": "try.py", "diff": ""}
    ]
