"""Reading ``answer.py``: the goal's one definition, and the imports and helpers that come with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard

from benchmark_tasks.domain.python_source import (
    Definition,
    SourceError,
    column,
    first_line_of,
    is_definition,
    parse_source,
    same_code,
    with_trailing_comments,
)
from submissions.answers.types import AnswerError

if TYPE_CHECKING:
    from benchmark_tasks.domain.goals import FoundGoal, Goal

MAX_SOURCE_BYTES = 256 * 1024

_LINE_END = re.compile(r"\r\n?")
_WRAPPER = "if True:\n"
_CONSTANT_NODES = (
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.UnaryOp,
    ast.BinOp,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)


@dataclass(frozen=True, slots=True)
class Helper:
    """Module-level statements that share lines, with the comment lines right above; ``text`` ends in ``\\n``."""

    statements: tuple[ast.stmt, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """What ``answer.py`` holds. ``text`` is the goal's definition, from its decorators on, and ends in ``\\n``."""

    node: Definition
    text: str
    helpers: tuple[Helper, ...]


@dataclass(slots=True)
class _Reading:
    """The answer while it is read; ``shift`` lines were put before its first."""

    lines: Sequence[str]
    shift: int
    goal: Goal
    found: FoundGoal
    future: frozenset[str]
    goals: list[Definition] = field(default_factory=list)
    helpers: list[ast.stmt] = field(default_factory=list)

    def refuse(self, message: str, node: ast.stmt) -> AnswerError:
        return AnswerError(message, line=node.lineno - self.shift)


def future_names(tree: ast.Module) -> frozenset[str]:
    """The names that a module imports from ``__future__``."""
    return frozenset(alias.name for node in tree.body if _is_future(node) for alias in node.names)


def defines_goal(answer: bytes, goal: Goal) -> bool:
    """Whether ``answer`` parses and holds a definition of the goal's name, by itself or in the goal's class.

    Raises AnswerError for one that does not parse.
    """
    _, _, body = _parsed(answer)
    of_goal = [statement for statement in body if is_definition(statement) and _is_of_goal(statement, goal)]
    inside = [member for statement in of_goal for member in statement.body if is_definition(member)]
    return any(statement.name == goal.function for statement in (*of_goal, *inside))


def read_answer(answer: bytes, goal: Goal, found: FoundGoal, *, future: frozenset[str]) -> SourceAnswer:
    """Take ``answer`` apart. ``future`` are the ``__future__`` names that the pristine file imports already.

    Raises AnswerError, with the answer's line, for anything but the goal's one definition, imports, helper
    definitions, assignments of constants, and a docstring.
    """
    lines, shift, body = _parsed(answer)
    reading = _Reading(lines=lines, shift=shift, goal=goal, found=found, future=future)
    for position, statement in enumerate(body):
        _sort_in(statement, position, reading)
    node = _only_goal(reading)
    first, last = first_line_of(lines, node), with_trailing_comments(lines, node)
    return SourceAnswer(node=node, text="".join(lines[first - 1 : last]), helpers=tuple(_helpers(reading)))


def _parsed(answer: bytes) -> tuple[tuple[str, ...], int, Sequence[ast.stmt]]:
    """The lines of the answer, how many were put before its first one, and its statements. Raises AnswerError."""
    text = _decode(answer)
    shift = 1 if _begins_indented(text) else 0
    text = _WRAPPER * shift + text
    try:
        body: Sequence[ast.stmt] = parse_source(text).body
    except SourceError as error:
        line = None if error.line is None else max(1, error.line - shift)
        raise AnswerError(f"The answer {error}", line=line) from None
    if shift:
        (wrapper, *others) = body
        if not isinstance(wrapper, ast.If) or wrapper.orelse or others:
            raise AnswerError("The answer begins indented and goes on at the margin; indent all of it alike.", line=1)
        body = wrapper.body
    return tuple(line + "\n" for line in text.split("\n")), shift, body


def _decode(answer: bytes) -> str:
    if len(answer) > MAX_SOURCE_BYTES:
        raise AnswerError(f"The answer is larger than {MAX_SOURCE_BYTES // 1024} KB; send only the goal's definition.")
    try:
        text = _LINE_END.sub("\n", answer.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise AnswerError("The answer is not UTF-8 text.", line=answer.count(b"\n", 0, error.start) + 1) from None
    if "\0" in text:
        raise AnswerError("The answer holds a NUL character.", line=text.count("\n", 0, text.index("\0")) + 1)
    if not text.strip():
        raise AnswerError("The answer is empty.")
    if text.lstrip().startswith("```"):
        raise AnswerError("The answer is wrapped in a Markdown fence (```); send only the code inside.", line=1)
    return text


def _begins_indented(text: str) -> bool:
    """Whether the first code is indented, as a method is that was cut out of its class."""
    code = (line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    return column(next(code, "")) > 0


def _sort_in(statement: ast.stmt, position: int, reading: _Reading) -> None:
    """Put one top-level statement where it belongs, or raise AnswerError."""
    if is_definition(statement) and _is_of_goal(statement, reading.goal):
        _sort_goal(statement, reading)
    elif _is_future(statement):
        missing = sorted({alias.name for alias in statement.names} - reading.future)
        if missing:
            raise reading.refuse(f"'from __future__ import {missing[0]}' is not in the masked file.", statement)
    elif any(same_code(statement, other) for other in reading.found.source.tree.body):
        # It repeats what the file has anyway, as an answer with the whole file does.
        return
    elif (
        is_definition(statement)
        or isinstance(statement, ast.Import | ast.ImportFrom)
        or _is_constant_assignment(statement)
    ):
        reading.helpers.append(statement)
    elif not (position == 0 and _is_docstring(statement)):
        raise reading.refuse(_refusal(statement), statement)


def _is_of_goal(statement: Definition, goal: Goal) -> bool:
    """Whether this has the goal's name, or is the class that the goal is a method of."""
    is_class = isinstance(statement, ast.ClassDef) and statement.name == goal.class_name.rpartition(".")[2]
    return statement.name == goal.function or is_class


def _sort_goal(statement: Definition, reading: _Reading) -> None:
    if statement.name != reading.goal.function and isinstance(statement, ast.ClassDef):
        reading.goals.extend(_goals_in_class(statement, reading))
    else:
        reading.goals.append(statement)


def _goals_in_class(wrapper: ast.ClassDef, reading: _Reading) -> Iterator[Definition]:
    """The goal method in its repeated class; what else the class repeats must be what the masked file has."""
    nodes = ast.walk(reading.found.outermost)
    original = next((n for n in nodes if isinstance(n, ast.ClassDef) and reading.found.node in n.body), None)
    pristine = original.body if original else []
    for member in wrapper.body:
        if is_definition(member) and member.name == reading.goal.function:
            yield member
        elif not (_is_empty(member) or any(same_code(member, other) for other in pristine)):
            message = (
                f"Class {wrapper.name!r} holds something beside {reading.goal.function!r} that differs from the "
                "masked file; only the goal is replaced: leave the rest out, or send a diff."
            )
            raise reading.refuse(message, member)


def _only_goal(reading: _Reading) -> Definition:
    goal, goals = reading.goal, reading.goals
    if not goals:
        place = f", by itself or inside class {goal.class_name!r}" if goal.class_name not in ("", goal.function) else ""
        raise AnswerError(f"The answer does not define {goal.function!r}{place}.")
    if len(goals) > 1:
        raise reading.refuse(f"{goal.function!r} is defined twice; keep one.", goals[1])
    wanted = isinstance(reading.found.node, ast.ClassDef)
    if isinstance(goals[0], ast.ClassDef) != wanted:
        kinds = ("function", "class")
        message = f"{goal.function!r} is a {kinds[not wanted]} here; the goal is a {kinds[wanted]}."
        raise reading.refuse(message, goals[0])
    return goals[0]


def _helpers(reading: _Reading) -> Iterator[Helper]:
    groups: list[list[ast.stmt]] = []
    for statement in reading.helpers:
        if groups and first_line_of(reading.lines, statement) <= (groups[-1][-1].end_lineno or 0):
            groups[-1].append(statement)
        else:
            groups.append([statement])
    for group in groups:
        first = first_line_of(reading.lines, group[0])
        while first > 1 + reading.shift and reading.lines[first - 2].lstrip().startswith("#"):
            first -= 1
        last = group[-1].end_lineno or group[-1].lineno
        yield Helper(statements=tuple(group), text="".join(reading.lines[first - 1 : last]))


def _is_future(statement: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__" and not statement.level


def _is_constant_assignment(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        plain = all(isinstance(target, ast.Name) for target in statement.targets)
        return plain and _only_constants(statement.value)
    if isinstance(statement, ast.AnnAssign):
        return isinstance(statement.target, ast.Name) and (not statement.value or _only_constants(statement.value))
    return False


def _only_constants(expression: ast.expr) -> bool:
    return all(isinstance(node, _CONSTANT_NODES) for node in ast.walk(expression))


def _is_empty(statement: ast.stmt) -> bool:
    """``pass``, ``...`` or a docstring."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)


def _refusal(statement: ast.stmt) -> str:
    test = ast.walk(statement.test) if isinstance(statement, ast.If) else ()
    if any(isinstance(node, ast.Name) and node.id == "__name__" for node in test):
        return "An 'if __name__ == ...' block does not belong into an answer; remove it."
    return (
        "Beside the goal's definition an answer may hold imports, helper functions and classes, and assignments of "
        "constants; move this statement into a function, or send a diff."
    )
