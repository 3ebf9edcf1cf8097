"""Putting an ``answer.py`` into the masked file in the goal's place, and leaving every other byte as it is."""

from __future__ import annotations

import ast
import io
import token
import tokenize
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import FoundGoal, Goal, find_goal
from benchmark_tasks.domain.python_source import (
    SourceError,
    column,
    first_line_of,
    is_definition,
    read_source,
    same_code,
)
from submissions.answers.answer_source import Helper, SourceAnswer, future_names, read_answer
from submissions.answers.types import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEFAULT_UNIT = "    "
_SPACING = " \t\f"
_NO_CODE = (tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER)
# Python 3.12 and later split f-strings into several tokens.
_FSTRING_START = getattr(token, "FSTRING_START", -1)
_FSTRING_END = getattr(token, "FSTRING_END", -1)


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


@dataclass(slots=True)
class _Layout:
    """What the tokens say about a block's lines (numbered from 1)."""

    depths: dict[int, int] = field(default_factory=dict)
    in_strings: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Level:
    """A line that begins a statement: the column where it began, and what now stands before it."""

    column: int
    prefix: str


def reindent(block: str, *, indent: str, unit: str) -> list[str]:
    """The lines of ``block``, the outermost statements at ``indent``, deeper ones indented by ``unit`` a level.

    ``block`` has ``\\n`` line ends; the lines returned have none.
    Lines inside multi-line strings stay as they are; lines that continue a statement keep their distance from it.

    Raises SourceError when the block has no tokens that Python would accept.
    """
    layout = _layout(block)
    lines = block.split("\n")
    if lines[-1] == "":
        lines.pop()
    outermost = min(layout.depths.values(), default=0)
    levels = {
        number: _Level(column=column(lines[number - 1]), prefix=indent + unit * (depth - outermost))
        for number, depth in layout.depths.items()
    }
    following = _following(levels, len(lines))
    current: _Level | None = None
    latest: dict[int, _Level] = {}
    moved: list[str] = []
    for number, line in enumerate(lines, start=1):
        code = line.lstrip(_SPACING)
        if number in layout.in_strings:
            moved.append(line)
        elif not code:
            moved.append("")
        else:
            if number in levels:
                current = latest[levels[number].column] = levels[number]
            is_comment = code.startswith("#") and number not in levels
            level = _comment_level(line, current, following[number], latest) if is_comment else current
            moved.append(_at_level(line, code, level))
    return moved


def _at_level(line: str, code: str, level: _Level | None) -> str:
    if level is None:
        return code
    return level.prefix + " " * max(0, column(line) - level.column) + code


def _comment_level(line: str, current: _Level | None, after: _Level | None, latest: dict[int, _Level]) -> _Level | None:
    """The statement a comment goes with: the next one or an earlier one in its column, else the current one."""
    if after is not None and (current is None or after.column == column(line)):
        return after
    return latest.get(column(line), current)


def _following(levels: dict[int, _Level], count: int) -> list[_Level | None]:
    """For each line number, the next line at or after it that begins a statement."""
    following: list[_Level | None] = [None] * (count + 2)
    for number in range(count, 0, -1):
        following[number] = levels.get(number, following[number + 1])
    return following


def _layout(block: str) -> _Layout:
    layout = _Layout()
    depth, at_start = 0, True
    open_fstrings: list[int] = []
    try:
        for found in tokenize.generate_tokens(io.StringIO(block, newline="\n").readline):
            if found.type in (tokenize.INDENT, tokenize.DEDENT):
                depth += 1 if found.type == tokenize.INDENT else -1
            elif found.type == tokenize.NEWLINE:
                at_start = True
            elif found.type not in _NO_CODE and at_start:
                layout.depths[found.start[0]] = depth
                at_start = False
            _note_string(found, open_fstrings, layout)
    except (tokenize.TokenError, SyntaxError) as error:
        raise SourceError(f"is not valid Python: {error.args[0]}") from None
    return layout


def _note_string(found: tokenize.TokenInfo, open_fstrings: list[int], layout: _Layout) -> None:
    if found.type == _FSTRING_START:
        open_fstrings.append(found.start[0])
    elif found.type == _FSTRING_END and open_fstrings:
        layout.in_strings.update(range(open_fstrings.pop() + 1, found.end[0] + 1))
    elif found.type == tokenize.STRING:
        layout.in_strings.update(range(found.start[0] + 1, found.end[0] + 1))
