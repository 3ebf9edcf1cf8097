"""Moving a block of Python to another indentation by its tokens, so that multi-line strings keep their text."""

from __future__ import annotations

import io
import token
import tokenize
from dataclasses import dataclass, field

from benchmark_tasks.domain.python_source import SourceError, column

_SPACING = " \t\f"
_NO_CODE = (tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER)
# Python 3.12 and later split f-strings into several tokens.
_FSTRING_START = getattr(token, "FSTRING_START", -1)
_FSTRING_END = getattr(token, "FSTRING_END", -1)


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
            moved.append(_placed(line, code, level))
    return moved


def _placed(line: str, code: str, level: _Level | None) -> str:
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
