from __future__ import annotations

from pathlib import Path

import pytest

from benchmark_tasks.domain.goals import Goal
from submissions.answers.check import TaskFiles, check_answers
from submissions.answers.types import AnswerKind, Problem, RawAnswer, Severity


@pytest.fixture
def tasks(tmp_path: Path) -> dict[str, TaskFiles]:
    (tmp_path / "a.py").write_text("def f(x):\n    raise NotImplementedError\n")
    open_task = TaskFiles(goal=Goal("dpo/1", "a.py", "f"), repository=tmp_path)
    closed = TaskFiles(goal=Goal("cd/1", "a.py", "f"), repository=tmp_path, closed="no unit test")
    return {"dpo/1": open_task, "cd/1": closed}


def answer(task: str, content: bytes, *, trial: int = 1, kind: AnswerKind = AnswerKind.SOURCE) -> RawAnswer:
    return RawAnswer(task=task, trial=trial, kind=kind, content=content, file=f"answers/{task}/{trial}")


def test_every_problem_of_every_answer_is_listed(tasks: dict[str, TaskFiles]) -> None:
    test_file = b"--- /dev/null\n+++ b/test_x.py\n@@ -0,0 +1 @@\n+1\n"
    answers = (
        answer("dop/1", b"def f(x): pass\n"),
        answer("cd/1", b"def f(x): pass\n"),
        answer("dpo/1", b"def f(x): return x\n"),
        answer("dpo/1", b"def f(x):\n    return (\n", trial=2),
        answer("dpo/1", test_file, trial=3, kind=AnswerKind.DIFF),
        answer("dpo/1", b"", trial=4, kind=AnswerKind.DIFF),
    )
    checked = check_answers(answers, tasks)
    assert list(checked.applied) == [("dpo/1", 1)]
    assert checked.applied["dpo/1", 1].files == {"a.py": "def f(x): return x\n"}
    assert checked.problems == (
        Problem(Severity.REFUSE, "Unknown task 'dop/1'; did you mean 'dpo/1'?", "dop/1", "answers/dop/1/1"),
        Problem(Severity.REFUSE, "This task takes no answers (no unit test); leave it out.", "cd/1", "answers/cd/1/1"),
        Problem(
            Severity.BAD_ANSWER,
            "The answer is not valid Python: '(' was never closed",
            "dpo/1",
            "answers/dpo/1/2",
            2,
        ),
        Problem(
            Severity.REFUSE,
            "test_x.py is protected (tests, configuration and what Python loads by itself are not part of an answer); "
            "take it out of the diff.",
            "dpo/1",
            "answers/dpo/1/3",
        ),
        Problem(Severity.BAD_ANSWER, "The diff is empty.", "dpo/1", "answers/dpo/1/4"),
    )
    assert checked.is_refused


def test_bad_answers_alone_do_not_refuse_the_bundle(tasks: dict[str, TaskFiles]) -> None:
    checked = check_answers((answer("dpo/1", b""),), tasks)
    assert (checked.is_refused, len(checked.problems), checked.applied) == (False, 1, {})
