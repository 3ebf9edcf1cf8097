"""Make an answer for each of a paper's tasks from its modified repository. No Django here.

A paper may have several tasks, some in one file. Each gets what was changed, except that the other tasks' goals are as
masked: so one task's score does not depend on what was written for another. What may not be changed is set aside and
reported; the answer counts without it, since agents touch tests for honest reasons too, and the pristine test decides.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import FoundGoal, Goal, find_goal
from benchmark_tasks.domain.python_source import SourceError, same_code
from submissions.answers.diff_text import MAX_CHANGED_FILES
from submissions.answers.git_tool import unified_diff
from submissions.answers.goal_in_test_file import with_goal_of
from submissions.answers.patches import below_a_file, path_problem
from submissions.answers.protection import is_protected_name
from submissions.answers.trees import Tree, read_tree
from submissions.answers.types import (
    AnswerError,
    AnswerKind,
    Problem,
    RawAnswer,
    SetAside,
    Severity,
    closed_message,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from submissions.answers.types import TaskFiles

_LONGEST_DIFF = 16 * 1024
_MOST_ASIDE = 20
_SHOWN_PATH = 300
_CACHES = frozenset(
    (
        *(".git", ".hg", ".svn", ".idea", ".vscode", "__macosx"),
        *(".cache", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__"),
        *(".venv", "env", "node_modules", "site-packages", "venv"),
    )
)
_RESULTS = frozenset(
    {"checkpoints", "log", "logs", "output", "outputs", "result", "results", "runs", "tensorboard", "wandb"}
)
_RESULT_NAMES = ("*.log", "*.out", "*.err", "nohup*", "events.out.*")
_CACHE_NAMES = (".ds_store", "._*", "thumbs.db", "*.swp", "*.orig", "*.rej", "*~", "*.bak", "*.egg-info")
_NEW_SUFFIXES = (".py", ".pyi", ".json", ".yaml", ".yml", ".toml", ".txt", ".csv", ".tsv")

CACHES = "caches and editors' files"
RESULTS = "logs and results"
BINARY = "binary files"
OTHER = "new files of other kinds"
PROTECTED_IS_CHANGED = (
    "This protected file is changed. The change is not applied: the answer is tested with the original."
)


@dataclass(frozen=True, slots=True)
class TreeFolder:
    """What differs in one paper's modified repository (path to content), by what may become of it.

    ``changed`` may be part of an answer; ``protected`` may not (None where the content is too long to keep).
    ``missing`` are the goal files that are not there. ``place`` is what the repository is called in messages.
    """

    place: str
    changed: dict[str, bytes]
    protected: dict[str, bytes | None]
    missing: tuple[str, ...] = ()


@dataclass(slots=True)
class Making:
    """One task's answer while it is made."""

    task: TaskFiles
    others: tuple[Goal, ...]
    folder: TreeFolder
    masked: Tree
    files: dict[str, bytes] = field(default_factory=dict)
    aside: list[SetAside] = field(default_factory=list)

    @property
    def goal(self) -> Goal:
        return self.task.goal

    @property
    def file(self) -> str:
        return f"{self.folder.place}/{self.goal.file}"

    def pristine(self, path: str) -> bytes | None:
        """The masked content of ``path``; None for a new file."""
        return (self.task.repository / path).read_bytes() if path in self.masked.entries else None

    def set_aside(self, path: str, message: str, content: bytes | None, *, deleted: bool = False) -> None:
        """Leave the change of ``path`` out of the answer, and keep it beside, with the first few others.

        ``content`` is None where it is not kept, or the file is ``deleted``.
        """
        if len(self.aside) >= _MOST_ASIDE:
            return
        diff = ""
        if content is not None or deleted:
            old = self.pristine(path)
            # A name that no disk takes is set aside too, without its content.
            with suppress(AnswerError, OSError):
                new = {} if content is None else {path: content}
                diff = unified_diff({} if old is None else {path: old}, new)[:_LONGEST_DIFF]
        self.aside.append(SetAside(message=message, file=shown_path(path), diff=diff))

    def answer(self, *, wrong: str = "") -> RawAnswer:
        old = {path: content for path in self.files if (content := self.pristine(path)) is not None}
        diff = ""
        try:
            diff = unified_diff(old, self.files) if self.files else ""
        except AnswerError as error:
            wrong = wrong or str(error)
        return RawAnswer(
            task=self.goal.task,
            trial=1,
            kind=AnswerKind.TREE,
            content=diff.encode(),
            file=self.file,
            files=dict(sorted(self.files.items())),
            wrong=wrong,
            aside=tuple(self.aside),
        )


def shown_path(path: str) -> str:
    """A foreign path, printable and short enough for a message."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in path)
    shown = shown.encode("ascii", "backslashreplace").decode()
    return shown if len(shown) <= _SHOWN_PATH else f"{shown[:_SHOWN_PATH]}..."


def answers_of(folder: TreeFolder, tasks: Mapping[str, TaskFiles]) -> tuple[list[RawAnswer], list[Problem]]:
    """The answers in one paper's folder, and remarks on the tasks that were left as they were.

    ``tasks`` are the paper's, by slug; those that are closed get no answer, and a remark where their file is changed.
    """
    answers: list[RawAnswer] = []
    remarks: list[Problem] = []
    trees: dict[str, Tree] = {}
    for slug, task in tasks.items():
        if task.closed:
            if task.goal.file in folder.changed:
                file = f"{folder.place}/{task.goal.file}"
                remarks.append(Problem(Severity.REMARK, closed_message(task.closed), slug, file))
            continue
        masked = trees.setdefault(str(task.repository), read_tree(task.repository))
        others = tuple(other.goal for other_slug, other in tasks.items() if other_slug != slug)
        making = Making(task=task, others=others, folder=folder, masked=masked)
        answer = _answer(making)
        if answer is not None:
            answers.append(answer)
        elif task.goal.file in folder.changed:
            message = f"The file is changed, but not {task.goal.function!r}: this counts as not attempted."
            remarks.append(Problem(Severity.REMARK, message, slug, making.file))
    return answers, remarks


def remarks_on(answers: list[RawAnswer]) -> list[Problem]:
    """What was set aside beside each answer."""
    return [
        Problem(Severity.REMARK, aside.message, answer.task, aside.file) for answer in answers for aside in answer.aside
    ]


def _answer(making: Making) -> RawAnswer | None:
    """The answer; None where the goal is as masked."""
    goal = making.goal
    if goal.file in making.folder.missing:
        return making.answer(wrong=f"{goal.file}, which holds the goal, is missing from the modified repository.")
    changed = making.folder.changed.get(goal.file)
    if changed is None:
        return None
    pristine = making.pristine(goal.file) or b""
    found, wrong = _find(with_line_ends_of(pristine, changed), goal)
    if found is not None and _same_goal(_find(pristine, goal)[0], found):
        return None
    if len(making.folder.changed) > MAX_CHANGED_FILES:
        count = len(making.folder.changed)
        return making.answer(wrong=f"{count} files are changed; at most {MAX_CHANGED_FILES} are allowed.")
    for path, content in making.folder.changed.items():
        take(path, content, making)
    for path, kept in making.folder.protected.items():
        making.set_aside(path, PROTECTED_IS_CHANGED, kept)
    return making.answer(wrong=wrong)


def take(path: str, content: bytes, making: Making) -> None:
    """Add the changed file ``path`` to the answer, as far as it may belong to it."""
    reason = path_problem(path, making.masked, making.goal)
    reason = reason or below_a_file(path, making.folder.changed)
    if reason:
        making.set_aside(path, f"Not applied: it {reason}.", content)
        return
    pristine = making.pristine(path)
    if pristine is not None:
        content = with_line_ends_of(pristine, content)
        for other in making.others:
            content = _restored(path, pristine, content, other, making)
        if path == making.goal.file and is_protected_name(path):
            content = _goal_alone(path, pristine, content, making)
    if content != pristine:
        making.files[path] = content


def with_line_ends_of(pristine: bytes, content: bytes) -> bytes:
    """``content`` with the line ends of ``pristine`` where those are all of one kind; editors convert whole files."""
    unix = content.replace(b"\r\n", b"\n")
    if b"\r" not in pristine:
        return unix
    if pristine.count(b"\r\n") == pristine.count(b"\n") == pristine.count(b"\r"):
        return unix.replace(b"\n", b"\r\n")
    return content


def _restored(path: str, pristine: bytes, content: bytes, other: Goal, making: Making) -> bytes:
    """``content`` with the goal of another task as it is masked."""
    if other.file != path:
        return content
    masked, _ = _find(pristine, other)
    own, _ = _find(pristine, making.goal) if path == making.goal.file else (None, "")
    if masked is None or (own is not None and _overlap(masked, own)):
        return content
    found, wrong = _find(content, other)
    if found is None:
        if path != making.goal.file:
            making.set_aside(path, f"Not applied, since it breaks another task's goal: {wrong}", content)
            return pristine
        return content
    lines = found.source.lines
    text = "".join([*lines[: found.first_line - 1], masked.text, *lines[found.last_line :]])
    restored = found.source.mark + text.encode()
    return restored if _find(restored, other)[0] is not None else content


def _goal_alone(path: str, pristine: bytes, content: bytes, making: Making) -> bytes:
    """Of a test file that holds the goal, the masked file with the new definition in it."""
    masked, _ = _find(pristine, making.goal)
    found, _ = _find(content, making.goal)
    if masked is None or found is None:
        return content
    alone = with_goal_of(masked, found)
    if alone != content:
        message = f"Changes around {making.goal.function!r} are not applied: the test, which is in this file, stays."
        making.set_aside(path, message, content)
    return alone


def _find(content: bytes, goal: Goal) -> tuple[FoundGoal | None, str]:
    """The goal in ``content``, or why it is not found."""
    try:
        return find_goal(content, goal), ""
    except SourceError as error:
        return None, error.about(goal.file)


def _overlap(first: FoundGoal, second: FoundGoal) -> bool:
    return first.first_line <= second.last_line and second.first_line <= first.last_line


def _same_goal(masked: FoundGoal | None, found: FoundGoal) -> bool:
    """Whether the definitions differ in comments and docstrings at most."""
    return masked is not None and same_code(masked.node, found.node, docstrings=False)


def noise_of_name(path: str) -> str:
    """Why a new file called ``path`` is no part of an answer, or an empty text."""
    *folders, name = path.lower().split("/")
    if any(folder in _CACHES or folder.endswith(".egg-info") for folder in folders) or _is_like(name, _CACHE_NAMES):
        return CACHES
    if any(folder in _RESULTS for folder in folders) or _is_like(name, _RESULT_NAMES):
        return RESULTS
    return "" if name.endswith(_NEW_SUFFIXES) else OTHER


def noise_of_content(path: str, content: bytes, *, is_new: bool) -> str:
    """Why this content is no part of an answer: it is not text, or a new file that says nothing."""
    if b"\0" in content:
        return BINARY
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        # A program that is no longer text is a bad answer, and is reported as one where it is applied.
        return "" if path.lower().endswith(".py") else BINARY
    return "empty new files" if is_new and not content.strip() and not path.lower().endswith(".py") else ""


def _is_like(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
