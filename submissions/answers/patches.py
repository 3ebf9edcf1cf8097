"""Apply one answer to a task's masked repository: a diff in a scratch copy, or a definition spliced into its file.

What a diff says about itself is not believed; what it did to the copy is looked at, path by path.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import find_goal
from benchmark_tasks.domain.python_source import SourceError, parse_source, same_code
from submissions.answers.archives import MAX_FILE_BYTES
from submissions.answers.git_tool import apply_in, paths_in, unified_diff
from submissions.answers.goal_in_test_file import check_goal_alone, same_around
from submissions.answers.protection import is_protected_name, shadowed_module, too_long, unsafe_name
from submissions.answers.similarity import similarity_of
from submissions.answers.splice import goal_in, splice_goal
from submissions.answers.trees import Tree, copy_tree, read_tree, scratch_folder
from submissions.answers.types import AnswerError, AppliedAnswer, ProtectedPathError

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from benchmark_tasks.domain.goals import FoundGoal, Goal
    from submissions.answers.types import TaskFiles

MAX_DIFF_BYTES = 1024 * 1024
MAX_CHANGED_FILES = 200

_HEADERS = re.compile(rb"^(?:\+\+\+ |diff --git )", re.MULTILINE)
_COPIES = re.compile(rb"^(?:copy|rename) from ", re.MULTILINE)
_MOST_HEADERS = 2 * MAX_CHANGED_FILES
_MOST_COPIES = 20
_SHOWN_PATH = 300
_IS_PROTECTED = "is protected (tests, configuration and what Python loads by itself are not part of an answer)"


@dataclass(frozen=True, slots=True)
class _Change:
    """One changed path with its contents; None where it does not exist."""

    path: str
    old: bytes | None
    new: bytes | None


def apply_diff(task: TaskFiles, diff: bytes) -> AppliedAnswer:
    """Apply a unified diff to a scratch copy of the task's repository, which stays untouched, and say what came out.

    Raises ProtectedPathError when the result touches anything protected, AnswerError when the diff is broken, does
    not fit, changes nothing, or leaves Python that does not parse or has no goal definition.
    """
    repository = task.repository
    diff = _checked_text(diff)
    with scratch_folder() as scratch:
        tree = scratch / "tree"
        holes = copy_tree(repository, tree, longest=MAX_FILE_BYTES)
        before = read_tree(tree)
        # Before git makes them: what lies thousands of folders deep can hardly be listed or removed again.
        for path in paths_in(tree, diff):
            reason = "" if path in before.entries else too_long(path)
            if reason:
                raise _protected(path, reason)
        _apply_beside(holes, tree, diff)
        after = read_tree(tree)
        paths = after.changed_from(before)
        _refuse_new_folders(before, after)
        for path in paths:
            _refuse_protected(path, before, after, task.goal)
        if len(paths) > MAX_CHANGED_FILES:
            raise AnswerError(f"The diff changes {len(paths)} files; at most {MAX_CHANGED_FILES} are allowed.")
        changes = [_change(path, repository, tree, after) for path in paths]
    changes = [change for change in changes if change.old != change.new]
    if not changes:
        raise AnswerError("The diff changes nothing in the masked repository.")
    if all(_only_line_ends(change) for change in changes):
        raise AnswerError("The diff changes nothing but line ends in the masked repository.")
    return _applied(task, changes, ProtectedPathError)


def _apply_beside(holes: list[str], tree: Path, diff: bytes) -> None:
    """Apply ``diff``, and say so where it fails since it changes a file that is too long."""
    try:
        apply_in(tree, diff)
    except ProtectedPathError:
        raise
    except AnswerError:
        too_long = next((path for path in holes if path.encode() in diff), None)
        if too_long is None:
            raise
        message = f"{too_long} is longer than {MAX_FILE_BYTES // 1024} KB, so no answer may change it."
        raise AnswerError(message) from None


def apply_source(task: TaskFiles, answer: bytes) -> AppliedAnswer:
    """Splice the definition in ``answer`` into the goal's file and say what came out.

    Raises AnswerError when the answer does not parse, cannot be placed, or is the masked definition unchanged.
    """
    pristine = (task.repository / task.goal.file).read_bytes()
    found = splice_goal(pristine, task.goal, answer)
    # By syntax: a docstring takes on another indentation on its way into the answer and back.
    if same_code(goal_in(pristine, task.goal).source.tree, found.source.tree, docstrings=False):
        raise AnswerError(
            "The answer changes nothing: it is the masked definition itself (comments and docstrings do not count)."
        )
    change = _Change(path=task.goal.file, old=pristine, new=found.source.content)
    return _applied(task, [change], AnswerError, found=found)


def apply_files(task: TaskFiles, files: Mapping[str, bytes]) -> AppliedAnswer:
    """Put whole new contents (repository path to bytes) in the place of the masked files and return what came out.

    ``tree_answers`` has set aside what an answer may not change. Raises as :func:`apply_diff` does.
    """
    repository = task.repository
    tree = read_tree(repository)
    changes = []
    for path, content in files.items():
        pristine = (repository / path).read_bytes() if path in tree.entries else None
        if pristine != content:
            changes.append(_Change(path=path, old=pristine, new=content))
    if not changes:
        raise AnswerError("Nothing in the masked repository is changed.")
    return _applied(task, changes, ProtectedPathError)


def path_problem(path: str, masked: Tree, goal: Goal) -> str:
    """Why an answer may not change or add the file ``path``, or an empty text."""
    reason = unsafe_name(path)
    if not reason and path in masked.entries and not masked.entries[path].is_regular:
        reason = "is a link or special file"
    if not reason:
        reason = below_a_file(path, masked.entries)
    if not reason and path != goal.file and is_protected_name(path):
        reason = _IS_PROTECTED
    return reason or ("" if path in masked.entries else _new_name_reason(path, masked, goal))


def below_a_file(path: str, files: Collection[str]) -> str:
    """Says that a folder of ``path`` is one of ``files`` (or links, which lead elsewhere), or an empty text."""
    parts = path.split("/")
    parents = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    parent = next((parent for parent in parents if parent in files), "")
    return f"lies below {parent}, which is no folder" if parent else ""


def _checked_text(diff: bytes) -> bytes:
    if len(diff) > MAX_DIFF_BYTES:
        raise AnswerError(f"The diff is larger than {MAX_DIFF_BYTES // 1024} KB; send only the change.")
    if not diff.strip():
        raise AnswerError("The diff is empty.")
    try:
        diff.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AnswerError("The diff is not UTF-8 text.", line=_line_at(diff, error.start)) from None
    if b"\0" in diff:
        raise AnswerError("The diff holds a NUL character.", line=_line_at(diff, diff.index(b"\0")))
    if diff.lstrip().startswith(b"```"):
        raise AnswerError("The diff is wrapped in a Markdown fence (```); send only the diff inside.", line=1)
    # The number of files is bounded before git makes them: a small diff may copy a large file thousands of times.
    if len(_HEADERS.findall(diff)) > _MOST_HEADERS or len(_COPIES.findall(diff)) > _MOST_COPIES:
        raise AnswerError(f"The diff touches more than {MAX_CHANGED_FILES} files or copies more than {_MOST_COPIES}.")
    return diff if diff.endswith(b"\n") else diff + b"\n"


def _line_at(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1


def _refuse_new_folders(before: Tree, after: Tree) -> None:
    """A new folder without a file in it is what is left of a submodule."""
    for folder in sorted(after.folders - before.folders):
        if not any(path.startswith(folder + "/") for path in after.entries):
            raise _protected(folder, "is an empty folder or a submodule")


def _protected(path: str, reason: str) -> ProtectedPathError:
    shown = path.encode("ascii", "backslashreplace").decode()
    shown = shown if len(shown) <= _SHOWN_PATH else f"{shown[:_SHOWN_PATH]}..."
    return ProtectedPathError(f"{shown} {reason}; take it out of the diff.", file=shown)


def _refuse_protected(path: str, before: Tree, after: Tree, goal: Goal) -> None:
    reason = path_problem(path, before, goal)
    old, new = before.entries.get(path), after.entries.get(path)
    if not reason and new is not None:
        if not new.is_regular:
            reason = "is a link or special file"
        elif new.is_executable != (old is not None and old.is_executable):
            reason = "changes its file mode"
    if reason:
        raise _protected(path, reason)


def _new_name_reason(path: str, before: Tree, goal: Goal) -> str:
    """What is wrong with the name of an added file beside the names that were there."""
    if reason := too_long(path):
        return reason
    known = {name.lower(): name for name in (*before.entries, *before.folders)}
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        partial = "/".join(parts[:depth])
        twin = known.get(partial.lower(), partial)
        if twin != partial:
            return f"differs from {twin} only in the case of letters"
    bases = {"", goal.file.rpartition("/")[0]}
    module = shadowed_module(path, bases=bases)
    if module and not _was_shadowed(module, bases, before):
        return f"would hide the installed module {module!r}"
    return ""


def _was_shadowed(module: str, bases: set[str], before: Tree) -> bool:
    """Whether the masked repository itself has a module or package of this name."""
    places = [f"{base}/{module}" if base else module for base in bases]
    return any(place in before.folders or f"{place}.py" in before.entries for place in places)


def _change(path: str, repository: Path, tree: Path, after: Tree) -> _Change:
    pristine, result = repository / path, tree / path
    new = None
    if path in after.entries:
        if after.entries[path].stamp[0] > MAX_FILE_BYTES:
            raise AnswerError(f"{path} grows beyond {MAX_FILE_BYTES // 1024} KB.")
        new = result.read_bytes()
        if b"\0" in new or not _is_utf8(new):
            raise _protected(path, "becomes a binary file (NUL characters or not UTF-8)")
    return _Change(path=path, old=pristine.read_bytes() if pristine.is_file() else None, new=new)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _only_line_ends(change: _Change) -> bool:
    if change.old is None or change.new is None:
        return False
    return change.old.replace(b"\r", b"") == change.new.replace(b"\r", b"")


def _applied(
    task: TaskFiles,
    changes: list[_Change],
    outside_goal: Callable[..., AnswerError],
    *,
    found: FoundGoal | None = None,
) -> AppliedAnswer:
    """Check the changed Python files and the goal, and put the result together.

    ``found`` is the goal in the result where that was read before: each file is parsed once, for it may be long.
    """
    goal = task.goal
    old = {change.path: change.old for change in changes if change.old is not None}
    new = {change.path: change.new for change in changes if change.new is not None}
    for path, content in new.items():
        if not _is_utf8(content):
            raise AnswerError(f"{path} is not UTF-8 text; answers are kept as UTF-8.", file=path)
    trees = {path: _parsed(path, content) for path, content in new.items() if path != goal.file and _is_python(path)}
    pristine = old.get(goal.file)
    if goal.file in old and goal.file not in new:
        raise AnswerError(f"The diff removes {goal.file}, which holds the goal definition.")
    if found is None:
        result = new[goal.file] if goal.file in new else (task.repository / goal.file).read_bytes()
        found = goal_in(result, goal, subject=f"After the change {goal.file}")
    masked = None if pristine is None else goal_in(pristine, goal)
    if masked is not None and is_protected_name(goal.file):
        check_goal_alone(masked, found, goal, outside_goal)
    # Beside any other change of code the golden function is another answer: a helper may be shadowed.
    is_alone = all(_is_same_code(change, trees) for change in changes if change.path != goal.file) and (
        masked is None or same_around(masked, found, docstrings=False)
    )
    golden = _golden(task)
    return AppliedAnswer(
        files={path: content.decode("utf-8") for path, content in new.items()},
        deleted=tuple(sorted(old.keys() - new.keys())),
        diff=unified_diff(old, new),
        goal_source=found.text,
        identical=is_alone and golden is not None and same_code(found.node, golden.node, docstrings=False),
        similarity={} if golden is None else similarity_of(found, golden),
    )


def _golden(task: TaskFiles) -> FoundGoal | None:
    with suppress(OSError, SourceError):
        if task.reference is not None:
            return find_goal(task.reference.read_bytes(), task.goal)
    return None


def _is_same_code(change: _Change, trees: Mapping[str, ast.Module]) -> bool:
    """Whether a Python file is changed in comments, docstrings and formatting only. Of others nobody can tell."""
    if change.old is None or change.path not in trees:
        return False
    try:
        return same_code(parse_source(change.old), trees[change.path], docstrings=False)
    except SourceError:
        return False


def _is_python(path: str) -> bool:
    return path.lower().endswith(".py")


def _parsed(path: str, content: bytes) -> ast.Module:
    try:
        return parse_source(content)
    except SourceError as error:
        raise AnswerError(error.about(f"After the change {path}"), file=path) from None
