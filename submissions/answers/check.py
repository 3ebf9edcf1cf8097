"""Trying every answer of a bundle on its task, and listing everything that is wrong, before anything is queued.

All of it handles foreign text: :mod:`submissions.answers.limited` calls it in a process that can be ended.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO

from benchmark_tasks.domain.goals import find_goal
from benchmark_tasks.domain.python_source import SourceError, same_definition
from submissions.answers.bundle import BundleReading, read_bundle
from submissions.answers.intake import readable, refuse
from submissions.answers.manifest import nearest
from submissions.answers.patches import apply_diff, apply_files, apply_source
from submissions.answers.tree_answers import answers_of, remarks_on
from submissions.answers.types import (
    AnswerError,
    AnswerKind,
    AppliedAnswer,
    Problem,
    ProtectedPathError,
    RawAnswer,
    Severity,
    closed_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from submissions.answers.intake import ArchiveLimits
    from submissions.answers.protection import TaskFiles
    from submissions.answers.tree_index import TreeIndex
    from submissions.answers.types import Manifest

MAX_APPLIED_BYTES = 64 * 1024 * 1024
"""What the changed files of all answers of a bundle may hold together."""

_NAMED_TASKS = 10


@dataclass(frozen=True, slots=True)
class CheckedAnswers:
    """The answers that apply, by task and trial, and every problem of the others, in the answers' order."""

    applied: Mapping[tuple[str, int], AppliedAnswer] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether a problem stops the whole bundle."""
        return any(problem.severity is Severity.REFUSE for problem in self.problems)


@dataclass(frozen=True, slots=True)
class BundleRequest:
    """What a bundle is held against: the ``tasks`` of every suite that it may name, by suite and task slug.

    ``defaults``, ``index`` and the limits are those of :func:`submissions.answers.bundle.read_bundle`.
    """

    tasks: Mapping[str, Mapping[str, TaskFiles]] = field(default_factory=dict)
    defaults: Manifest | None = None
    index: TreeIndex | None = None
    limits: ArchiveLimits | None = None
    tree_limits: ArchiveLimits | None = None


def check_bundle(
    stream: BinaryIO, request: BundleRequest, on_answer: Callable[[RawAnswer], object] = lambda _: None
) -> tuple[BundleReading, CheckedAnswers]:
    """Read a bundle of any form and try its answers on the tasks of the suite that it names, if that is known.

    Output trees come back as answers. Answers to tasks that take none are left out, with a remark each.

    Raises BundleError as :func:`~submissions.answers.bundle.read_bundle` does.
    """
    reading = read_bundle(
        stream,
        defaults=request.defaults,
        limits=request.limits,
        index=request.index,
        tree_limits=request.tree_limits,
    )
    tasks = request.tasks.get(reading.manifest.suite) if reading.manifest else None
    if tasks is None:
        return reading, CheckedAnswers()
    reading, closed = _without_closed(_with_tree_answers(reading, tasks), tasks)
    if not reading.answers and (closed or reading.is_tree) and not reading.problems:
        message = "No goal is changed in any of these repositories, so there is nothing to submit."
        nothing = refuse(_all_left_out(closed) if closed else message)
        reading = replace(reading, problems=(*reading.problems, nothing))
    return replace(reading, trees=()), check_answers(reading.answers, tasks, on_answer)


def check_answers(
    answers: Iterable[RawAnswer],
    tasks: Mapping[str, TaskFiles],
    on_answer: Callable[[RawAnswer], object] = lambda _: None,
) -> CheckedAnswers:
    """Apply every one of ``answers`` in scratch copies. ``tasks`` maps the suite's task slugs (``dpo/1``).

    Nothing that is wrong with an answer raises; it becomes a problem with task, file and line. ``on_answer`` is called
    before each is tried.
    """
    applied: dict[tuple[str, int], AppliedAnswer] = {}
    problems: list[Problem] = []
    size = 0
    for answer in answers:
        on_answer(answer)
        task = tasks.get(answer.task)
        if task is None:
            message = f"Unknown task {answer.task!r}; {nearest(answer.task, tuple(sorted(tasks)))}"
            problems.append(_problem(answer, Severity.REFUSE, message))
            continue
        try:
            result = apply_answer(answer, task)
        except ProtectedPathError as error:
            problems.append(_problem(answer, Severity.REFUSE, error.message, error.line))
        except AnswerError as error:
            problems.append(_problem(answer, Severity.BAD_ANSWER, error.message, error.line))
        else:
            size += sum(len(text.encode()) for text in (*result.files.values(), result.diff))
            if size > MAX_APPLIED_BYTES:
                message = (
                    f"With this answer the changed files of the bundle hold more than {readable(MAX_APPLIED_BYTES)}; "
                    "send fewer trials in one bundle, or smaller changes."
                )
                problems.append(_problem(answer, Severity.REFUSE, message))
                break
            applied[answer.task, answer.trial] = result
    return CheckedAnswers(applied=applied, problems=tuple(problems))


def apply_answer(answer: RawAnswer, task: TaskFiles) -> AppliedAnswer:
    """Apply one answer to its task's masked repository. Raises AnswerError or ProtectedPathError."""
    if answer.wrong:
        raise AnswerError(answer.wrong)
    if answer.kind is AnswerKind.TREE:
        applied = apply_files(task.repository, answer.files, task.goal, protection=task.protection)
    elif answer.kind is AnswerKind.DIFF:
        applied = apply_diff(task.repository, answer.content, task.goal, protection=task.protection)
    else:
        applied = apply_source(task.repository, task.goal, answer.content, protection=task.protection)
    return replace(applied, identical=_is_reference(applied, task))


def _is_reference(applied: AppliedAnswer, task: TaskFiles) -> bool:
    with suppress(OSError, SourceError):
        # Beside any other change of code the golden function is another answer: a helper may be shadowed.
        if task.reference is not None and applied.goal_alone:
            return same_definition(applied.goal_source, find_goal(task.reference.read_bytes(), task.goal).text)
    return False


def _with_tree_answers(reading: BundleReading, tasks: Mapping[str, TaskFiles]) -> BundleReading:
    """``reading`` with an answer for each goal that an output tree changes, and what is to be said about them."""
    answers = list(reading.answers)
    remarks = list(reading.remarks)
    for folder in reading.trees:
        of_paper = {slug: task for slug, task in tasks.items() if slug.rpartition("/")[0] == folder.paper}
        made, said = answers_of(folder, of_paper)
        answers += made
        remarks += [*said, *remarks_on(made)]
    answers.sort(key=lambda answer: (answer.task, answer.trial))
    return replace(reading, answers=tuple(answers), remarks=tuple(remarks))


def _without_closed(reading: BundleReading, tasks: Mapping[str, TaskFiles]) -> tuple[BundleReading, dict[str, str]]:
    """``reading`` without the answers to tasks that take none, and those tasks with the reasons."""
    reasons = {slug: task.closed for slug, task in tasks.items() if task.closed}
    left_out = [
        Problem(Severity.REMARK, closed_message(reasons[answer.task]), answer.task, answer.file)
        for answer in reading.answers
        if answer.task in reasons
    ]
    remarks = (*reading.remarks, *left_out)
    answers = tuple(answer for answer in reading.answers if answer.task not in reasons)
    named = {remark.task for remark in remarks}
    closed = {slug: reason for slug, reason in reasons.items() if slug in named}
    return replace(reading, answers=answers, remarks=remarks), closed


def _all_left_out(closed: Mapping[str, str]) -> str:
    named = "; ".join(f"{slug} ({reason})" for slug, reason in list(closed.items())[:_NAMED_TASKS])
    more = "; ..." if len(closed) > _NAMED_TASKS else ""
    return f"There is nothing to submit: every answer here is to a task that takes none: {named}{more}."


def _problem(answer: RawAnswer, severity: Severity, message: str, line: int | None = None) -> Problem:
    return Problem(severity=severity, message=message, task=answer.task, file=answer.file, line=line)
