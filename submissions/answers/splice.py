"""Splice an ``answer.py`` into the masked file in place of the goal, keeping every other byte."""

from __future__ import annotations

import ast
import io
import token
import tokenize
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import FoundGoal, Goal, find_goal
from benchmark_tasks.domain.python_source import (
    SourceError,
    first_line_of,
    is_definition,
    same_code,
)
from submissions.answers.answer_source import Helper, SourceAnswer, future_names, read_answer
from submissions.answers.contents import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterable

_SPACING = " \t\f"
# Python 3.12 and later split f-strings into several tokens.
_FSTRING_START = getattr(token, "FSTRING_START", -1)
_FSTRING_END = getattr(token, "FSTRING_END", -1)


def splice(pristine: bytes, goal: Goal, answer: bytes) -> bytes:
    """Return ``pristine`` with the goal's definition replaced by the one in ``answer``.

    Raises as :func:`splice_goal` does.
    """
    return splice_goal(pristine, goal, answer).source.content


def splice_goal(pristine: bytes, goal: Goal, answer: bytes) -> FoundGoal:
    """Replace the goal's definition in the file ``pristine`` by the one in ``answer``; return the goal in the result.

    The answer's imports, helpers and constants go to module level, right before the statement that contains the goal.
    The pristine decorators are kept unless the answer has its own. The answer gets the goal's indentation and the
    file's line ends; everything outside the goal keeps its bytes, which a comparison of the syntax trees verifies.

    Raises AnswerError for an answer that cannot be placed, or a pristine file without the goal.
    """
    found = goal_in(pristine, goal)
    parts = read_answer(answer, goal, found, future=future_names(found.source.tree))
    try:
        result = found.source.mark + _placed(found, parts).encode()
    except SourceError as error:
        raise AnswerError(f"The answer {error}", line=error.line) from None
    return _checked(result, goal, found, parts)


def goal_in(content: bytes, goal: Goal, *, subject: str = "") -> FoundGoal:
    """Find the goal in ``content``. Raises AnswerError that begins with ``subject`` (default: the goal's file)."""
    try:
        return find_goal(content, goal)
    except SourceError as error:
        raise AnswerError(error.about(subject or goal.file), file=goal.file) from None


def _placed(found: FoundGoal, parts: SourceAnswer) -> str:
    lines = found.source.lines
    newline = _newline(found)
    indent = _spacing(lines[found.def_line - 1])
    start = found.first_line if parts.node.decorator_list else found.def_line
    goal_text = newline.join(_moved(parts.text, indent))
    if lines[found.last_line - 1].endswith(("\n", "\r")):
        goal_text += newline
    helpers_at = first_line_of(lines, found.outermost)
    helpers = "".join(line + newline for line in _helper_lines(parts.helpers))
    before, between = lines[: helpers_at - 1], lines[helpers_at - 1 : start - 1]
    return "".join([*before, helpers, *between, goal_text, *lines[found.last_line :]])


def _helper_lines(helpers: Iterable[Helper]) -> list[str]:
    """Return the helpers' lines, with two blank lines around definitions and at the end."""
    placed: list[str] = []
    after_definition = False
    for helper in helpers:
        defines = any(is_definition(statement) for statement in helper.statements)
        if placed and (defines or after_definition):
            placed += ["", ""]
        placed += _moved(helper.text, "")
        after_definition = defines
    return [*placed, "", ""] if placed else []


def _newline(found: FoundGoal) -> str:
    """Return the line end used at the goal, or elsewhere in the file if the goal's line has none."""
    lines = found.source.lines
    for line in (lines[found.def_line - 1], *lines):
        end = line[len(line.rstrip("\r\n")) :]
        if end:
            return end
    return "\n"


def _spacing(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_SPACING))]


def _checked(result: bytes, goal: Goal, found: FoundGoal, parts: SourceAnswer) -> FoundGoal:
    """Return the goal in the result. Raises AnswerError if the syntax tree is not the expected one."""
    placed = goal_in(result, goal, subject="The masked file with this answer in it")
    if not same_code(placed.source.tree, _expected(found, parts)):
        raise AnswerError(
            "The answer cannot be placed without changing code around it; write every top-level statement on lines "
            "of its own, or send a diff."
        )
    return placed


def _expected(found: FoundGoal, parts: SourceAnswer) -> ast.Module:
    tree = found.source.tree
    if not parts.node.decorator_list:
        parts.node.decorator_list = found.node.decorator_list
    for holder in ast.walk(tree):
        for _, value in ast.iter_fields(holder):
            if isinstance(value, list) and found.node in value:
                value[value.index(found.node)] = parts.node
    # If the goal itself was the outermost statement, it has been replaced.
    outermost = parts.node if found.outermost is found.node else found.outermost
    place = tree.body.index(outermost)
    tree.body[place:place] = [statement for helper in parts.helpers for statement in helper.statements]
    return tree


def _moved(block: str, indent: str) -> list[str]:
    """Return the lines of ``block``, without line ends, re-indented from its first statement's to ``indent``.

    Lines that begin inside a string are unchanged. Raises SourceError if ``block`` cannot be tokenized.
    """
    lines = block.removesuffix("\n").split("\n")
    in_strings = _lines_in_strings(block)
    before = next(
        _spacing(line) for line in lines if line.strip(_SPACING) and not line.lstrip(_SPACING).startswith("#")
    )
    moved = []
    for number, line in enumerate(lines, start=1):
        if number in in_strings:
            moved.append(line)
        elif line.startswith(before) and line.strip(_SPACING):
            moved.append(indent + line.removeprefix(before))
        else:
            # A comment or a continuation line may have any indentation.
            code = line.lstrip(_SPACING)
            moved.append(indent + code if code else "")
    return moved


def _lines_in_strings(block: str) -> set[int]:
    """Return the numbers of the lines that begin inside a string."""
    inside: set[int] = set()
    open_fstrings: list[int] = []
    try:
        for found in tokenize.generate_tokens(io.StringIO(block, newline="\n").readline):
            if found.type == _FSTRING_START:
                open_fstrings.append(found.start[0])
            elif found.type == _FSTRING_END and open_fstrings:
                inside.update(range(open_fstrings.pop() + 1, found.end[0] + 1))
            elif found.type == tokenize.STRING:
                inside.update(range(found.start[0] + 1, found.end[0] + 1))
    except (tokenize.TokenError, SyntaxError) as error:
        raise SourceError(f"is not valid Python: {error.args[0]}") from None
    return inside
