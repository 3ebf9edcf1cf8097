"""From what an agent left in its repository to an answer, by the rules for uploaded output trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from submissions.answers.protection import unsafe_name
from submissions.answers.tree_answers import answers_of, remarks_on
from submissions.answers.tree_noise import noise_of_content, noise_of_name
from submissions.answers.tree_reader import TreeFolder
from submissions.answers.trees import read_tree
from submissions.answers.types import AnswerKind, Problem, RawAnswer, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmark_tasks.domain.goals import Goal
    from evaluator.generation.agent_types import AgentResult
    from submissions.answers.protection import TaskFiles

PLACE: Final = "repository"
"""What the agent's repository is called in messages."""

_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The changed files by what may become of them, and why the others are passed over."""

    changed: dict[str, bytes]
    protected: dict[str, bytes | None]
    passed_over: dict[str, str]


def as_answer(
    result: AgentResult, *, task: TaskFiles, others: Iterable[Goal] = (), trial: int = 1
) -> tuple[RawAnswer | None, tuple[Problem, ...]]:
    """The answer, to be applied with ``submissions.answers.check.apply_answer``, and remarks on what is no part of it.

    None means that the goal is as it was masked: nothing was attempted. ``others`` are the goals of the paper's other
    tasks, which stay as they are masked.
    """
    if result.is_definition:
        return _definition(result, task.goal, trial)
    sorted_files = _sorted(result.changed, task)
    folder = TreeFolder(
        paper=task.goal.task.partition("/")[0],
        place=PLACE,
        changed=sorted_files.changed,
        protected=sorted_files.protected,
        missing=(task.goal.file,) if task.goal.file in result.deleted else (),
    )
    tasks = {task.goal.task: task} | {other.task: replace(task, goal=other) for other in others}
    found, remarks = answers_of(folder, tasks)
    own = next((answer for answer in found if answer.task == task.goal.task), None)
    answer = replace(own, trial=trial) if own else None
    passed_over = sorted_files.passed_over | dict(result.refused)
    return answer, (
        *(remark for remark in remarks if remark.task == task.goal.task),
        *(remarks_on([answer]) if answer else ()),
        *(_remark(task.goal, path, f"Not applied: it {why}.") for path, why in list(passed_over.items())[:_SHOWN]),
        *_of_deleted(result, task.goal),
    )


def _definition(result: AgentResult, goal: Goal, trial: int) -> tuple[RawAnswer | None, tuple[Problem, ...]]:
    """The answer where the agent's goal file held the definition alone."""
    content = result.changed.get(goal.file)
    aside = tuple(
        _remark(goal, path, "Not applied: only the definition was asked for.")
        for path in list(result.changed)[:_SHOWN]
        if path != goal.file
    )
    file = f"{PLACE}/{goal.file}"
    if content is not None:
        return RawAnswer(task=goal.task, trial=trial, kind=AnswerKind.SOURCE, content=content, file=file), aside
    if goal.file in result.deleted:
        wrong = f"{goal.file}, which holds the goal, was deleted."
        return (
            RawAnswer(task=goal.task, trial=trial, kind=AnswerKind.SOURCE, content=b"", file=file, wrong=wrong),
            aside,
        )
    return None, aside


def _sorted(changed: Mapping[str, bytes], task: TaskFiles) -> _Sorted:
    masked = read_tree(task.repository).entries
    sorted_files = _Sorted({}, {}, {})
    for path, content in changed.items():
        is_new = path not in masked
        is_protected = path != task.goal.file and task.protection.is_protected_name(path)
        noise = "has an unusual name" if unsafe_name(path) else ""
        if not noise and is_new:
            noise = (
                "is a new test, configuration or compiled file" if is_protected else _belongs_to(noise_of_name(path))
            )
        noise = noise or _belongs_to(noise_of_content(path, content, is_new=is_new))
        if noise:
            sorted_files.passed_over[path] = noise
        elif is_protected:
            sorted_files.protected[path] = content
        else:
            sorted_files.changed[path] = content
    return sorted_files


def _belongs_to(noise: str) -> str:
    return f"is one of: {noise}" if noise else ""


def _of_deleted(result: AgentResult, goal: Goal) -> tuple[Problem, ...]:
    deleted = [path for path in result.deleted if path != goal.file]
    if not deleted:
        return ()
    shown = ", ".join(deleted[:3]) + (", ..." if len(deleted) > 3 else "")
    return (_remark(goal, PLACE, f"Deleted files are put back: {len(deleted)} ({shown})."),)


def _remark(goal: Goal, path: str, message: str) -> Problem:
    return Problem(severity=Severity.REMARK, message=message, task=goal.task, file=path[:200])
