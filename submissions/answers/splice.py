"""Putting an ``answer.py`` into the masked file in the goal's place, and leaving every other byte as it is."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from submissions.answers.answer_source import Helper, SourceAnswer, future_names, read_answer
from submissions.answers.goals import (
    FoundGoal,
    GoalNotFoundError,
    Source,
    SourceError,
    find_goal,
    first_line_of,
    goal_source,
    is_definition,
    parse_python,
    read_source,
)
from submissions.answers.reindent import reindent
from submissions.answers.types import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from submissions.answers.types import Goal

__all__ = ["FoundGoal", "GoalNotFoundError", "find_goal", "goal_source", "splice"]

_DEFAULT_UNIT = "    "


def splice(pristine: bytes, goal: Goal, answer: bytes) -> bytes:
    """The bytes of ``pristine`` with the goal's definition replaced by the one in ``answer``.

    The answer's imports, helpers and constants go to module level right before the statement that holds the goal.
    Decorators stay the pristine ones unless the answer brings its own. The answer takes on the file's indentation,
    line ends and encoding; everything outside the goal keeps its bytes, and its syntax tree is compared to be sure.

    Raises GoalNotFoundError for a pristine file without the goal, AnswerError for an answer that cannot be placed.
    """
    try:
        source = read_source(pristine)
    except SourceError as error:
        raise GoalNotFoundError(f"{goal.file} is {error}", file=goal.file, line=error.line) from None
    found = find_goal(source, goal)
    parts = read_answer(answer, goal, found, future=future_names(source.tree))
    try:
        text = _placed(source, found, parts)
        result = source.mark + text.encode(source.encoding)
    except SourceError as error:
        raise AnswerError(f"The answer is {error}", line=error.line) from None
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        message = f"The masked file is written in {source.encoding}, which has no {character!r}; write it as an escape."
        raise AnswerError(message) from None
    _check(result, source, found, parts)
    return result


def _placed(source: Source, found: FoundGoal, parts: SourceAnswer) -> str:
    lines = source.lines
    newline = _newline(source, found)
    unit = _unit(source, found)
    definition_line = lines[found.def_line - 1]
    indent = definition_line[: len(definition_line) - len(definition_line.lstrip(" \t\f"))]
    start = found.first_line if parts.node.decorator_list else found.def_line
    goal_text = newline.join(reindent(parts.text, indent=indent, unit=unit))
    if lines[found.last_line - 1].endswith(("\n", "\r")):
        goal_text += newline
    helpers_at = first_line_of(lines, found.outermost)
    helpers = "".join(line + newline for line in _helper_lines(parts.helpers, unit))
    before, between = lines[: helpers_at - 1], lines[helpers_at - 1 : start - 1]
    return "".join([*before, helpers, *between, goal_text, *lines[found.last_line :]])


def _helper_lines(helpers: Iterable[Helper], unit: str) -> list[str]:
    """Helpers one below the other, two blank lines around definitions and at the end."""
    placed: list[str] = []
    after_definition = False
    for helper in helpers:
        defines = any(is_definition(statement) for statement in helper.statements)
        if placed and (defines or after_definition):
            placed += ["", ""]
        placed += reindent(helper.text, indent="", unit=unit)
        after_definition = defines
    return [*placed, "", ""] if placed else []


def _newline(source: Source, found: FoundGoal) -> str:
    """The line end used at the goal, or elsewhere in a file whose last line is the goal's only one."""
    for line in (source.lines[found.def_line - 1], *source.lines):
        end = line[len(line.rstrip("\r\n")) :]
        if end:
            return end
    return "\n"


def _unit(source: Source, found: FoundGoal) -> str:
    """One step of indentation: what the goal's body adds to its ``def``, else the file's first, else four spaces."""
    body = found.node.body[0]
    outer = _spacing(source.lines[found.def_line - 1])
    inner = _spacing(source.lines[body.lineno - 1])
    if body.lineno > found.def_line and inner.startswith(outer) and inner != outer:
        return inner[len(outer) :]
    for statement in ast.walk(source.tree):
        if is_definition(statement) and statement.col_offset == 0 and statement.body[0].lineno > statement.lineno:
            return _spacing(source.lines[statement.body[0].lineno - 1]) or _DEFAULT_UNIT
    return _DEFAULT_UNIT


def _spacing(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _check(result: bytes, source: Source, found: FoundGoal, parts: SourceAnswer) -> None:
    """Hold the result against the tree that it must have; raise AnswerError if it is any other."""
    try:
        tree = parse_python(result)
        same = ast.dump(tree) == ast.dump(_expected(source.tree, found, parts))
    except SourceError as error:
        raise AnswerError(f"The masked file with this answer in it is {error}") from None
    except RecursionError:
        raise AnswerError("The answer is nested too deeply.") from None
    if not same:
        raise AnswerError(
            "The answer cannot be placed without changing code around it; write every top-level statement on lines "
            "of its own, or send a diff."
        )
    _compile(tree)


def _expected(tree: ast.Module, found: FoundGoal, parts: SourceAnswer) -> ast.Module:
    if not parts.node.decorator_list:
        parts.node.decorator_list = found.node.decorator_list
    for holder in ast.walk(tree):
        for _, value in ast.iter_fields(holder):
            if isinstance(value, list) and found.node in value:
                value[value.index(found.node)] = parts.node
    # The goal itself may have been the outermost statement, and is replaced by now.
    outermost = parts.node if found.outermost is found.node else found.outermost
    place = tree.body.index(outermost)
    tree.body[place:place] = [statement for helper in parts.helpers for statement in helper.statements]
    return tree


def _compile(tree: ast.Module) -> None:
    """Find what only the compiler refuses (``break`` outside a loop, an argument given twice)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(tree, "answer.py", "exec", dont_inherit=True)
        except SyntaxError as error:
            where = f" (line {error.lineno} of the masked file with the answer in it)" if error.lineno else ""
            raise AnswerError(f"The answer does not compile: {error.msg}{where}.") from None
        except ValueError as error:
            raise AnswerError(f"The answer does not compile: {error}.") from None
        except (RecursionError, MemoryError):
            raise AnswerError("The answer is nested too deeply.") from None
