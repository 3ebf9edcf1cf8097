"""From what an agent left to an answer: the rules of uploaded output trees hold for it too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark_tasks.domain.goals import Goal
from evaluator.generation.agent_answer import as_answer
from evaluator.generation.agent_types import AgentResult
from submissions.answers.check import apply_answer
from submissions.answers.protection import TaskFiles
from submissions.answers.types import AnswerError, AnswerKind
from submissions.trajectories.steps import Trajectory
from tests.evaluator.generation.agent_runs import FILES, GOLDEN, STUB, make_task

OTHER = "\n\ndef best(scores):\n    raise NotImplementedError\n"
SOLVED = {"ranking/goal.py": GOLDEN.encode()}


@pytest.fixture
def task(tmp_path: Path) -> TaskFiles:
    made = make_task(tmp_path)
    return TaskFiles(goal=Goal("ranking/1", "ranking/goal.py", "rank"), repository=made.repository)


def left(changed: dict[str, bytes], **more: Any) -> AgentResult:
    facts: dict[str, Any] = {"deleted": (), "trajectory": Trajectory("agent"), "finished": True, "ending": ""}
    return AgentResult(changed=changed, **(facts | more))


def test_a_changed_goal_is_an_answer(task: TaskFiles) -> None:
    answer, remarks = as_answer(left(SOLVED), task=task, trial=3)
    assert answer is not None
    assert (answer.task, answer.trial, answer.kind, answer.file) == (
        "ranking/1",
        3,
        AnswerKind.TREE,
        "repository/ranking/goal.py",
    )
    assert remarks == ()
    applied = apply_answer(answer, task)
    assert applied.files == {"ranking/goal.py": GOLDEN}
    assert applied.goal_source == GOLDEN[GOLDEN.index("def rank") :]


@pytest.mark.parametrize(
    "changed",
    [{}, {"ranking/helpers.py": b"x = 1\n"}, {"ranking/goal.py": STUB.replace("best first", "the best").encode()}],
)
def test_an_unchanged_goal_was_not_attempted(task: TaskFiles, changed: dict[str, bytes]) -> None:
    answer, remarks = as_answer(left(changed), task=task)
    assert answer is None
    assert [remark.message for remark in remarks] == (
        ["The file is changed, but not 'rank': this counts as not attempted."] if "ranking/goal.py" in changed else []
    )


def test_what_is_no_part_of_an_answer_is_set_aside_and_said(task: TaskFiles) -> None:
    changed = {
        **SOLVED,
        "ranking/helpers.py": FILES["ranking/helpers.py"].replace("max", "min").encode(),
        "ranking/more.py": b"more = 1\n",
        "tests/test_goal.py": b"def test_rank():\n    pass\n",
        "tests/test_new.py": b"assert True\n",
        "conftest.py": b"x = 1\n",
        "out.log": b"text\n",
        "data.json": b"\x00",
        "numpy.py": b"x = 1\n",
        "b c.py ": b"x = 1\n",
    }
    result = left(changed, deleted=("README.md",), refused=(("link", "is a link or special file"),))
    answer, remarks = as_answer(result, task=task)
    assert answer is not None
    assert sorted(answer.files) == ["ranking/goal.py", "ranking/helpers.py", "ranking/more.py"]
    assert sorted(apply_answer(answer, task).files) == sorted(answer.files)
    assert {remark.file: remark.message for remark in remarks} == {
        "tests/test_goal.py": (
            "This protected file is changed. The change is not applied: the answer is tested with the original."
        ),
        "numpy.py": "Not applied: it would hide the installed module 'numpy'.",
        "tests/test_new.py": "Not applied: it is a new test, configuration or compiled file.",
        "conftest.py": "Not applied: it is a new test, configuration or compiled file.",
        "out.log": "Not applied: it is one of: logs and results.",
        "data.json": "Not applied: it is one of: binary files.",
        "b c.py ": "Not applied: it has an unusual name.",
        "link": "Not applied: it is a link or special file.",
        "repository": "Deleted files are put back: 1 (README.md).",
    }
    assert {remark.task for remark in remarks} == {"ranking/1"}


def test_the_goals_of_other_tasks_stay_masked(task: TaskFiles) -> None:
    goal_file = task.repository / "ranking" / "goal.py"
    goal_file.write_text(STUB + OTHER)
    changed = GOLDEN + OTHER.replace("raise NotImplementedError", "return scores.argmax()")
    other = Goal("ranking/2", "ranking/goal.py", "best")
    answer, _ = as_answer(left({"ranking/goal.py": changed.encode()}), task=task, others=[other])
    assert answer is not None
    assert apply_answer(answer, task).files == {"ranking/goal.py": GOLDEN + OTHER}


def test_a_goal_file_that_is_gone_is_a_bad_answer(task: TaskFiles) -> None:
    answer, _ = as_answer(left({}, deleted=("ranking/goal.py",)), task=task)
    assert answer is not None
    with pytest.raises(AnswerError, match=r"ranking/goal\.py, which holds the goal, is missing"):
        apply_answer(answer, task)


def test_a_goal_file_that_is_no_python_is_a_bad_answer(task: TaskFiles) -> None:
    answer, _ = as_answer(left({"ranking/goal.py": b"def rank(:\n"}), task=task)
    assert answer is not None
    with pytest.raises(AnswerError):
        apply_answer(answer, task)


def test_a_definition_alone_is_put_into_its_place(task: TaskFiles) -> None:
    content = b"import math\n\n\ndef rank(scores):\n    return [math.floor(score) for score in scores]\n"
    result = left({"ranking/goal.py": content, "try.py": b"x\n"}, is_definition=True)
    answer, remarks = as_answer(result, task=task, trial=2)
    assert answer is not None
    assert (answer.kind, answer.trial) == (AnswerKind.SOURCE, 2)
    applied = apply_answer(answer, task)
    assert list(applied.files) == ["ranking/goal.py"]
    assert "from ranking.helpers import shift" in applied.files["ranking/goal.py"]
    assert "math.floor" in applied.goal_source
    assert [(remark.file, remark.message) for remark in remarks] == [
        ("try.py", "Not applied: only the definition was asked for.")
    ]


def test_a_definition_that_was_left_or_deleted(task: TaskFiles) -> None:
    assert as_answer(left({}, is_definition=True), task=task) == (None, ())
    answer, _ = as_answer(left({}, deleted=("ranking/goal.py",), is_definition=True), task=task)
    assert answer is not None
    with pytest.raises(AnswerError, match="was deleted"):
        apply_answer(answer, task)
