"""Code for the pages of reviewing: coloured, numbered, with the words that differ marked."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from pygments.lexers.diff import DiffLexer
from pygments.lexers.python import PythonLexer
from pygments.token import STANDARD_TYPES, Token

from reviews.comparison import Line, compare
from submissions.highlighting import Patience, with_visible_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from pygments.lexer import Lexer

_LONGEST_RUN: Final = 8
"""Unchanged lines in a row that are shown; of a longer run :data:`_KEPT` stay at each change."""
_KEPT: Final = 3
_PLAIN: Final = frozenset({"", "n", "o", "p", "w"})
"""Classes that the style sheet gives no look of their own: names, signs and blanks."""


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One line of one side: its number from 1 and its code as safe HTML."""

    number: int
    html: SafeString


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of a comparison; ``kind`` as in :class:`~reviews.comparison.Row`."""

    kind: str
    left: ShownLine | None
    right: ShownLine | None


@dataclass(frozen=True, slots=True)
class Block:
    """A run of equal rows, all shown or all ``folded``; or one of rows that are all ``changed``."""

    rows: tuple[ShownRow, ...]
    folded: bool = False
    changed: bool = False


def side_by_side(
    golden: str, candidate: str, *, ignore_whitespace: bool = False, is_diff: bool = False
) -> tuple[Block, ...]:
    """``golden`` beside ``candidate``, both as :func:`~reviews.domain.items.shown_definition` made them.

    ``is_diff`` says that ``candidate`` is a unified diff. Where colours would take too long, there are none.
    """
    patience = Patience()
    rows = compare(golden, candidate, ignore_whitespace=ignore_whitespace)
    left = _tokens_by_line(golden, PythonLexer(stripnl=False), patience)
    right = _tokens_by_line(candidate, DiffLexer(stripnl=False) if is_diff else PythonLexer(stripnl=False), patience)
    return tuple(_blocks([ShownRow(row.kind, _shown(row.left, left), _shown(row.right, right)) for row in rows]))


def numbered(text: str, *, python: bool = True) -> tuple[ShownLine, ...]:
    """``text`` line by line, coloured as Python unless it is something else."""
    source = with_visible_marks(text.replace("\r\n", "\n").rstrip("\n"))
    lexer = PythonLexer(stripnl=False) if python else DiffLexer(stripnl=False)
    tokens = _tokens_by_line(source, lexer, Patience())
    rows = [Line(number, line) for number, line in enumerate(source.split("\n"), start=1)]
    return tuple(ShownLine(line.number, _html(line, tokens[line.number - 1])) for line in rows)


def _shown(line: Line | None, tokens: Sequence[Sequence[tuple[str, str]]]) -> ShownLine | None:
    return None if line is None else ShownLine(line.number, _html(line, tokens[line.number - 1]))


def _tokens_by_line(source: str, lexer: Lexer, patience: Patience) -> list[list[tuple[str, str]]]:
    """For each line its pieces of text with their CSS classes; joined they are the line."""
    lines: list[list[tuple[str, str]]] = [[]]
    # Lexers turn carriage returns into line ends, which would shift the lines against each other.
    for kind, text in patience.tokens(source.replace("\r", " "), lexer):
        first, *others = text.split("\n")
        for piece, is_next in [(first, False), *((other, True) for other in others)]:
            if is_next:
                lines.append([])
            if piece:
                lines[-1].append((_class_of(kind), piece))
    return lines


def _class_of(kind: Any) -> str:
    """The CSS class of a kind of token, or of the nearest kind that it is one of."""
    while kind is not Token and kind not in STANDARD_TYPES:
        kind = kind.parent
    name = STANDARD_TYPES.get(kind, "")
    return "" if name in _PLAIN else name


def _html(line: Line, tokens: Sequence[tuple[str, str]]) -> SafeString:
    """The line's code; words that differ stand in ``<mark>``."""
    pieces = _cut(tokens, line.marks)
    marked = groupby(pieces, key=lambda piece: piece[2])
    return mark_safe(  # noqa: S308 - each piece is escaped
        "".join(
            f"<mark>{spans}</mark>" if is_marked else spans
            for is_marked, group in marked
            if (spans := "".join(_span(name, text) for name, text, _ in group))
        )
    )


def _span(name: str, text: str) -> str:
    return format_html('<span class="{}">{}</span>', name, text) if name else conditional_escape(text)


def _cut(tokens: Iterable[tuple[str, str]], marks: Sequence[tuple[int, int]]) -> Iterator[tuple[str, str, bool]]:
    """The tokens cut where marks begin and end: (class, text, whether it is marked)."""
    borders = [border for mark in marks for border in mark]
    place = 0
    for name, text in tokens:
        inside = [border - place for border in borders if place < border < place + len(text)]
        for start, end in zip([0, *inside], [*inside, len(text)], strict=True):
            begins = place + start
            yield name, text[start:end], any(first <= begins < last for first, last in marks)
        place += len(text)


def _blocks(rows: list[ShownRow]) -> Iterator[Block]:
    """The rows in runs, of which the middle of long unchanged ones is folded."""
    for is_equal, group in groupby(rows, key=lambda row: row.kind == "equal"):
        run = tuple(group)
        head = _KEPT if run[0] is not rows[0] else 0
        end = len(run) - (_KEPT if run[-1] is not rows[-1] else 0)
        if not is_equal:
            yield Block(run, changed=True)
        elif len(run) <= _LONGEST_RUN or len(run) == len(rows):
            yield Block(run)
        else:
            parts = (Block(run[:head]), Block(run[head:end], folded=True), Block(run[end:]))
            yield from (part for part in parts if part.rows)
