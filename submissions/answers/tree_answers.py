"""Build an answer to each of a paper's tasks from its modified repository. Does not use Django.

A paper may have several tasks, some in one file. Each answer has all changes, except that the other tasks' goals stay
masked, so one task's score does not depend on the code for another. Changes that are not allowed are set aside and
reported; the answer counts without them, since agents also edit tests for honest reasons and the pristine test decides.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import FoundGoal, Goal, find_goal
from benchmark_tasks.domain.python_source import SourceError, same_code
from submissions.answers.contents import (
    AnswerError,
    AnswerKind,
    Problem,
    RawAnswer,
    SetAside,
    Severity,
    closed_message,
)
from submissions.answers.diff_text import MAX_CHANGED_FILES
from submissions.answers.git_tool import unified_diff
from submissions.answers.goal_in_test_file import with_goal_of
from submissions.answers.patches import below_a_file, path_problem
from submissions.answers.protection import is_protected_name
from submissions.answers.trees import Tree, read_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from submissions.answers.contents import TaskFiles

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
    """Changed files of one paper's modified repository (path to content).

    ``changed`` may be part of an answer; ``protected`` may not (None if the content is too long to keep). ``missing``
    lists the goal files that do not exist. ``place`` names the repository in messages.
    """

    place: str
    changed: dict[str, bytes]
    protected: dict[str, bytes | None]
    missing: tuple[str, ...] = ()


@dataclass(slots=True)
class AnswerBuilder:
    """Collect the changes of one task's answer."""

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
        """Return the masked content of ``path``; None for a new file."""
        return (self.task.repository / path).read_bytes() if path in self.masked.entries else None

    def set_aside(self, path: str, message: str, content: bytes | None, *, deleted: bool = False) -> None:
        """Exclude the change of ``path`` from the answer, and record it among the first few excluded ones.

        ``content`` is None if it is not kept, or if the file is ``deleted``.
        """
        if len(self.aside) >= _MOST_ASIDE:
            return
        diff = ""
        if content is not None or deleted:
            old = self.pristine(path)
            # A name that the file system refuses is set aside too, without its content.
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
    """Return an untrusted path, printable and short enough for a message."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in path)
    shown = shown.encode("ascii", "backslashreplace").decode()
    return shown if len(shown) <= _SHOWN_PATH else f"{shown[:_SHOWN_PATH]}..."


def answers_of(folder: TreeFolder, tasks: Mapping[str, TaskFiles]) -> tuple[list[RawAnswer], list[Problem]]:
    """Return the answers in one paper's folder, and remarks on tasks without one whose files are changed.

    ``tasks`` are the paper's, by slug. Closed tasks get no answer, and a remark if their file is changed.
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
        builder = AnswerBuilder(task=task, others=others, folder=folder, masked=masked)
        answer = _answer(builder)
        if answer is not None:
            answers.append(answer)
        elif task.goal.file in folder.changed:
            message = f"The file is changed, but not {task.goal.function!r}: this counts as not attempted."
            remarks.append(Problem(Severity.REMARK, message, slug, builder.file))
    return answers, remarks


def remarks_on(answers: list[RawAnswer]) -> list[Problem]:
    """Return a remark for each change that was set aside."""
    return [
        Problem(Severity.REMARK, aside.message, answer.task, aside.file) for answer in answers for aside in answer.aside
    ]


def _answer(builder: AnswerBuilder) -> RawAnswer | None:
    """Return the answer; None if the goal is unchanged."""
    goal = builder.goal
    if goal.file in builder.folder.missing:
        return builder.answer(wrong=f"{goal.file}, which holds the goal, is missing from the modified repository.")
    changed = builder.folder.changed.get(goal.file)
    if changed is None:
        return None
    pristine = builder.pristine(goal.file) or b""
    found, wrong = _find(with_line_ends_of(pristine, changed), goal)
    if found is not None and _same_goal(_find(pristine, goal)[0], found):
        return None
    if len(builder.folder.changed) > MAX_CHANGED_FILES:
        count = len(builder.folder.changed)
        return builder.answer(wrong=f"{count} files are changed; at most {MAX_CHANGED_FILES} are allowed.")
    for path, content in builder.folder.changed.items():
        add_change(path, content, builder)
    for path, kept in builder.folder.protected.items():
        builder.set_aside(path, PROTECTED_IS_CHANGED, kept)
    return builder.answer(wrong=wrong)


def add_change(path: str, content: bytes, builder: AnswerBuilder) -> None:
    """Add the allowed part of the changed file ``path`` to the answer."""
    reason = path_problem(path, builder.masked, builder.goal)
    reason = reason or below_a_file(path, builder.folder.changed)
    if reason:
        builder.set_aside(path, f"Not applied: it {reason}.", content)
        return
    pristine = builder.pristine(path)
    if pristine is not None:
        content = with_line_ends_of(pristine, content)
        for other in builder.others:
            content = _with_goal_masked(path, pristine, content, other, builder)
        if path == builder.goal.file and is_protected_name(path):
            content = _goal_alone(path, pristine, content, builder)
    if content != pristine:
        builder.files[path] = content


def with_line_ends_of(pristine: bytes, content: bytes) -> bytes:
    """Convert ``content`` to the line ends of ``pristine``, if those are all alike; editors convert whole files."""
    unix = content.replace(b"\r\n", b"\n")
    if b"\r" not in pristine:
        return unix
    if pristine.count(b"\r\n") == pristine.count(b"\n") == pristine.count(b"\r"):
        return unix.replace(b"\n", b"\r\n")
    return content


def _with_goal_masked(path: str, pristine: bytes, content: bytes, other: Goal, builder: AnswerBuilder) -> bytes:
    """Replace the goal of another task in ``content`` by its masked definition."""
    if other.file != path:
        return content
    masked, _ = _find(pristine, other)
    own, _ = _find(pristine, builder.goal) if path == builder.goal.file else (None, "")
    if masked is None or (own is not None and _overlap(masked, own)):
        return content
    found, wrong = _find(content, other)
    if found is None:
        if path != builder.goal.file:
            builder.set_aside(path, f"Not applied, since it breaks another task's goal: {wrong}", content)
            return pristine
        return content
    lines = found.source.lines
    text = "".join([*lines[: found.first_line - 1], masked.text, *lines[found.last_line :]])
    restored = found.source.mark + text.encode()
    return restored if _find(restored, other)[0] is not None else content


def _goal_alone(path: str, pristine: bytes, content: bytes, builder: AnswerBuilder) -> bytes:
    """Return the masked test file with the new goal definition in it; set other changes aside."""
    masked, _ = _find(pristine, builder.goal)
    found, _ = _find(content, builder.goal)
    if masked is None or found is None:
        return content
    alone = with_goal_of(masked, found)
    if alone != content:
        message = f"Changes around {builder.goal.function!r} are not applied, since this file also holds the test."
        builder.set_aside(path, message, content)
    return alone


def _find(content: bytes, goal: Goal) -> tuple[FoundGoal | None, str]:
    """Return the goal in ``content``, or the reason why it is not found."""
    try:
        return find_goal(content, goal), ""
    except SourceError as error:
        return None, error.about(goal.file)


def _overlap(first: FoundGoal, second: FoundGoal) -> bool:
    return first.first_line <= second.last_line and second.first_line <= first.last_line


def _same_goal(masked: FoundGoal | None, found: FoundGoal) -> bool:
    """Return whether the definitions differ at most in comments and docstrings."""
    return masked is not None and same_code(masked.node, found.node, docstrings=False)


def noise_of_name(path: str) -> str:
    """Return why a new file called ``path`` is not part of an answer, or an empty text."""
    *folders, name = path.lower().split("/")
    if any(folder in _CACHES or folder.endswith(".egg-info") for folder in folders) or _is_like(name, _CACHE_NAMES):
        return CACHES
    if any(folder in _RESULTS for folder in folders) or _is_like(name, _RESULT_NAMES):
        return RESULTS
    return "" if name.endswith(_NEW_SUFFIXES) else OTHER


def noise_of_content(path: str, content: bytes, *, is_new: bool) -> str:
    """Return why this content is not part of an answer (not text, or an empty new file), or an empty text."""
    if b"\0" in content:
        return BINARY
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        # Python that is not text is a bad answer, and reported as one when it is applied.
        return "" if path.lower().endswith(".py") else BINARY
    return "empty new files" if is_new and not content.strip() and not path.lower().endswith(".py") else ""


def _is_like(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
