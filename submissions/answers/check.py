"""Trying every answer of a bundle on its task, and listing everything that is wrong, before anything is queued."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from submissions.answers.manifest import nearest
from submissions.answers.patches import apply_diff, apply_files, apply_source
from submissions.answers.protection import Protection
from submissions.answers.types import (
    AnswerError,
    AnswerKind,
    AppliedAnswer,
    Problem,
    ProtectedPathError,
    RawAnswer,
    Severity,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from benchmark_tasks.domain.goals import Goal


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """What is needed of a task to try an answer on it. ``closed`` says why it takes none (not runnable), if so."""

    goal: Goal
    repository: Path
    protection: Protection = field(default_factory=Protection)
    closed: str = ""


@dataclass(frozen=True, slots=True)
class CheckedAnswers:
    """The answers that apply, by task and trial, and every problem of the others, in the answers' order."""

    applied: Mapping[tuple[str, int], AppliedAnswer]
    problems: tuple[Problem, ...]

    @property
    def is_refused(self) -> bool:
        """Whether a problem stops the whole bundle."""
        return any(problem.severity is Severity.REFUSE for problem in self.problems)


def check_answers(answers: Iterable[RawAnswer], tasks: Mapping[str, TaskFiles]) -> CheckedAnswers:
    """Apply every one of ``answers`` in scratch copies. ``tasks`` maps the suite's task slugs (``dpo/1``).

    Nothing that is wrong with an answer raises; it becomes a problem with task, file and line.
    """
    applied: dict[tuple[str, int], AppliedAnswer] = {}
    problems: list[Problem] = []
    for answer in answers:
        task = tasks.get(answer.task)
        if task is None:
            message = f"Unknown task {answer.task!r}; {nearest(answer.task, tuple(sorted(tasks)))}"
            problems.append(_problem(answer, Severity.REFUSE, message))
        elif task.closed:
            message = f"This task takes no answers ({task.closed}); leave it out."
            problems.append(_problem(answer, Severity.REFUSE, message))
        else:
            try:
                applied[answer.task, answer.trial] = apply_answer(answer, task)
            except ProtectedPathError as error:
                problems.append(_problem(answer, Severity.REFUSE, error.message, error.line))
            except AnswerError as error:
                problems.append(_problem(answer, Severity.BAD_ANSWER, error.message, error.line))
    return CheckedAnswers(applied=applied, problems=tuple(problems))


def apply_answer(answer: RawAnswer, task: TaskFiles) -> AppliedAnswer:
    """Apply one answer to its task's masked repository. Raises AnswerError or ProtectedPathError."""
    if answer.wrong:
        raise AnswerError(answer.wrong)
    if answer.kind is AnswerKind.TREE:
        return apply_files(task.repository, answer.files, task.goal, protection=task.protection)
    if answer.kind is AnswerKind.DIFF:
        return apply_diff(task.repository, answer.content, task.goal, protection=task.protection)
    return apply_source(task.repository, task.goal, answer.content, protection=task.protection)


def _problem(answer: RawAnswer, severity: Severity, message: str, line: int | None = None) -> Problem:
    return Problem(severity=severity, message=message, task=answer.task, file=answer.file, line=line)
