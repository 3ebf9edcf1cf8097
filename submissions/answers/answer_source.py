"""Parse ``answer.py`` into the goal's definition and the imports and helpers around it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from submissions.answers.contents import AnswerError

if TYPE_CHECKING:
    from benchmark_tasks.domain.goals import FoundGoal, Goal

MAX_SOURCE_BYTES = 256 * 1024

_LINE_END = re.compile(r"\r\n?")
_IMPORTS = (ast.Import, ast.ImportFrom)
_COLLECTIONS = (ast.Tuple, ast.List, ast.Set, ast.Dict)
_CONSTANT_NODES = (ast.Constant, *_COLLECTIONS, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)


@dataclass(frozen=True, slots=True)
class Helper:
    """Module-level statements on shared lines, with the comment lines right above; ``text`` ends in ``\\n``."""

    statements: tuple[ast.stmt, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """The parts of ``answer.py``. ``text`` is the goal's definition including decorators, and ends in ``\\n``."""

    node: Definition
    text: str
    helpers: tuple[Helper, ...]


def future_names(tree: ast.Module) -> frozenset[str]:
    """Return the names that a module imports from ``__future__``."""
    return frozenset(alias.name for node in tree.body if _is_future(node) for alias in node.names)


def defines_goal(answer: bytes, goal: Goal) -> bool:
    """Return whether ``answer`` defines the goal's name, at the top level or in the goal's class.

    Raises AnswerError if it does not parse.
    """
    _, body = _parsed(answer)
    of_goal = [statement for statement in body if is_definition(statement) and _is_of_goal(statement, goal)]
    inside = [member for statement in of_goal for member in statement.body if is_definition(member)]
    return any(statement.name == goal.function for statement in (*of_goal, *inside))


def read_answer(answer: bytes, goal: Goal, found: FoundGoal, *, future: frozenset[str]) -> SourceAnswer:
    """Parse ``answer``. ``future`` has the ``__future__`` names that the pristine file imports.

    Raises AnswerError, with the answer's line, for anything other than one definition of the goal, imports, helper
    definitions, assignments of constants, and a docstring.
    """
    lines, body = _parsed(answer)
    goals: list[Definition] = []
    helpers: list[ast.stmt] = []
    for position, statement in enumerate(body):
        if is_definition(statement) and _is_of_goal(statement, goal):
            goals += _goals_in(statement, goal, found)
        elif _is_future(statement):
            missing = sorted({alias.name for alias in statement.names} - future)
            if missing:
                raise _refused(f"'from __future__ import {missing[0]}' is not in the masked file.", statement)
        elif any(same_code(statement, other) for other in found.source.tree.body):
            pass  # It repeats a statement of the file, as an answer with the whole file does.
        elif is_definition(statement) or isinstance(statement, _IMPORTS) or _is_constant_assignment(statement):
            helpers.append(statement)
        elif position or not _is_docstring(statement):
            raise _refused(_refusal(statement), statement)
    node = _only_goal(goals, goal, found)
    first, last = first_line_of(lines, node), with_trailing_comments(lines, node)
    return SourceAnswer(node, "".join(lines[first - 1 : last]), tuple(_helpers(lines, helpers)))


def _parsed(answer: bytes) -> tuple[tuple[str, ...], Sequence[ast.stmt]]:
    """Return the lines of the answer and its statements. Raises AnswerError."""
    text = _decode(answer)
    lines = tuple(f"{line}\n" for line in text.split("\n"))
    is_indented = _begins_indented(text)
    try:
        tree = parse_source(f"if True:\n{text}" if is_indented else text)
    except SourceError as error:
        line = max(1, error.line - 1) if error.line and is_indented else error.line
        raise AnswerError(f"The answer {error}", line=line) from None
    if not is_indented:
        return lines, tree.body
    ast.increment_lineno(tree, -1)
    (wrapper, *others) = tree.body
    if not isinstance(wrapper, ast.If) or wrapper.orelse or others:
        raise AnswerError("The answer begins indented and continues unindented; indent all of it alike.", line=1)
    return lines, wrapper.body


def _decode(answer: bytes) -> str:
    if len(answer) > MAX_SOURCE_BYTES:
        raise AnswerError(f"The answer is larger than {MAX_SOURCE_BYTES // 1024} KB; send only the goal's definition.")
    try:
        text = _LINE_END.sub("\n", answer.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise AnswerError("The answer is not UTF-8 text.", line=answer.count(b"\n", 0, error.start) + 1) from None
    if "\0" in text:
        raise AnswerError("The answer contains a NUL character.", line=text.count("\n", 0, text.index("\0")) + 1)
    if not text.strip():
        raise AnswerError("The answer is empty.")
    if text.lstrip().startswith("```"):
        raise AnswerError("The answer is wrapped in a Markdown fence (```); send only the code inside.", line=1)
    return text


def _begins_indented(text: str) -> bool:
    """Return whether the first code is indented, like a method copied out of its class."""
    code = (line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    return column(next(code, "")) > 0


def _is_of_goal(statement: Definition, goal: Goal) -> bool:
    """Return whether this has the goal's name, or is the class whose method the goal is."""
    is_class = isinstance(statement, ast.ClassDef) and statement.name == goal.class_name.rpartition(".")[2]
    return statement.name == goal.function or is_class


def _goals_in(statement: Definition, goal: Goal, found: FoundGoal) -> Iterator[Definition]:
    """Yield the goal: ``statement``, or its method if it is the goal's class, whose other members must be unchanged."""
    if statement.name == goal.function or not isinstance(statement, ast.ClassDef):
        yield statement
        return
    nodes = ast.walk(found.outermost)
    original = next((n for n in nodes if isinstance(n, ast.ClassDef) and found.node in n.body), None)
    pristine = original.body if original else []
    for member in statement.body:
        if is_definition(member) and member.name == goal.function:
            yield member
        elif not (_is_empty(member) or any(same_code(member, other) for other in pristine)):
            message = (
                f"Class {statement.name!r} has a member other than {goal.function!r} that differs from the "
                "masked file; only the goal is replaced: leave the rest out, or send a diff."
            )
            raise _refused(message, member)


def _only_goal(goals: Sequence[Definition], goal: Goal, found: FoundGoal) -> Definition:
    if not goals:
        place = f", by itself or inside class {goal.class_name!r}" if goal.class_name not in ("", goal.function) else ""
        raise AnswerError(f"The answer does not define {goal.function!r}{place}.")
    if len(goals) > 1:
        raise _refused(f"{goal.function!r} is defined twice; keep one.", goals[1])
    wanted = isinstance(found.node, ast.ClassDef)
    if isinstance(goals[0], ast.ClassDef) != wanted:
        kinds = ("function", "class")
        raise _refused(f"{goal.function!r} is a {kinds[not wanted]} here; the goal is a {kinds[wanted]}.", goals[0])
    return goals[0]


def _helpers(lines: Sequence[str], statements: Sequence[ast.stmt]) -> Iterator[Helper]:
    groups: list[list[ast.stmt]] = []
    for statement in statements:
        if groups and first_line_of(lines, statement) <= (groups[-1][-1].end_lineno or 0):
            groups[-1].append(statement)
        else:
            groups.append([statement])
    for group in groups:
        first = first_line_of(lines, group[0])
        while first > 1 and lines[first - 2].lstrip().startswith("#"):
            first -= 1
        last = group[-1].end_lineno or group[-1].lineno
        yield Helper(statements=tuple(group), text="".join(lines[first - 1 : last]))


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
    """Return whether this is ``pass``, ``...`` or a docstring."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)


def _refused(message: str, node: ast.stmt) -> AnswerError:
    return AnswerError(message, line=node.lineno)


def _refusal(statement: ast.stmt) -> str:
    test = ast.walk(statement.test) if isinstance(statement, ast.If) else ()
    if any(isinstance(node, ast.Name) and node.id == "__name__" for node in test):
        return "An 'if __name__ == ...' block is not part of an answer; remove it."
    return (
        "Besides the goal's definition an answer may have imports, helper functions and classes, and assignments of "
        "constants; move this statement into a function, or send a diff."
    )
