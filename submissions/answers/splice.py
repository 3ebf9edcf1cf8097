"""Putting an ``answer.py`` into the masked file in the goal's place, and leaving every other byte as it is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import FoundGoal, Goal, find_goal
from benchmark_tasks.domain.python_source import SourceError, first_line_of, is_definition, read_source, same_code
from submissions.answers.answer_source import Helper, SourceAnswer, future_names, read_answer
from submissions.answers.reindent import reindent
from submissions.answers.types import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEFAULT_UNIT = "    "


def splice(pristine: bytes, goal: Goal, answer: bytes) -> bytes:
    """The bytes of ``pristine`` with the goal's definition replaced by the one in ``answer``.

    The answer's imports, helpers and constants go to module level right before the statement that holds the goal.
    Decorators stay the pristine ones unless the answer brings its own. The answer takes on the file's indentation,
    and line ends; everything outside the goal keeps its bytes, and its syntax tree is compared to be sure.

    Raises AnswerError for an answer that cannot be placed, and for a pristine file without the goal.
    """
    found = goal_in(pristine, goal)
    parts = read_answer(answer, goal, found, future=future_names(found.source.tree))
    try:
        result = found.source.mark + _placed(found, parts).encode()
    except SourceError as error:
        raise AnswerError(f"The answer {error}", line=error.line) from None
    _check(result, found, parts)
    return result


def goal_in(content: bytes, goal: Goal, *, subject: str = "") -> FoundGoal:
    """The goal in ``content``. Raises AnswerError, which begins with ``subject`` or else names the goal's file."""
    try:
        return find_goal(content, goal)
    except SourceError as error:
        raise AnswerError(error.about(subject or goal.file), file=goal.file) from None


def _placed(found: FoundGoal, parts: SourceAnswer) -> str:
    lines = found.source.lines
    newline = _newline(found)
    unit = _unit(found)
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


def _newline(found: FoundGoal) -> str:
    """The line end used at the goal, or elsewhere in a file whose last line is the goal's only one."""
    lines = found.source.lines
    for line in (lines[found.def_line - 1], *lines):
        end = line[len(line.rstrip("\r\n")) :]
        if end:
            return end
    return "\n"


def _unit(found: FoundGoal) -> str:
    """One step of indentation: what the goal's body adds to its ``def``, else the file's first, else four spaces."""
    body = found.node.body[0]
    lines = found.source.lines
    outer = _spacing(lines[found.def_line - 1])
    inner = _spacing(lines[body.lineno - 1])
    if body.lineno > found.def_line and inner.startswith(outer) and inner != outer:
        return inner[len(outer) :]
    for statement in ast.walk(found.source.tree):
        if is_definition(statement) and statement.col_offset == 0 and statement.body[0].lineno > statement.lineno:
            return _spacing(lines[statement.body[0].lineno - 1]) or _DEFAULT_UNIT
    return _DEFAULT_UNIT


def _spacing(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _check(result: bytes, found: FoundGoal, parts: SourceAnswer) -> None:
    """Hold the result against the tree that it must have; raise AnswerError if it is any other."""
    try:
        tree = read_source(result).tree
    except SourceError as error:
        raise AnswerError(error.about("The masked file with this answer in it")) from None
    if not same_code(tree, _expected(found, parts)):
        raise AnswerError(
            "The answer cannot be placed without changing code around it; write every top-level statement on lines "
            "of its own, or send a diff."
        )


def _expected(found: FoundGoal, parts: SourceAnswer) -> ast.Module:
    tree = found.source.tree
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
