"""Code for the pages of reviewing: coloured, numbered, with the words that differ marked."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from django.utils.safestring import SafeString, mark_safe

from reviews.comparison import Line, compare, lines_of
from submissions.highlighting import Piece, code_with_visible_marks, span, tokens_by_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_LONGEST_RUN: Final = 8
"""Unchanged lines in a row that are shown; of a longer run :data:`_KEPT` stay at each change."""
_KEPT: Final = 3
_MOST_LINES: Final = 3_000
"""Lines of one side in a comparison: each is a row of the page's table."""


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


@dataclass(frozen=True, slots=True)
class Rest:
    """What of one ``side``, named as the page names it, is too long for the comparison, from line ``first`` on."""

    side: str
    first: int
    text: str


def side_by_side(
    golden: str, candidate: str, *, ignore_whitespace: bool = False, is_diff: bool = False
) -> tuple[Block, ...]:
    """``golden`` beside ``candidate``, both as :func:`~reviews.labelling.items.shown_definition` made them.

    ``is_diff`` says that ``candidate`` is a unified diff. What is too long is left to :func:`beyond_comparison`.
    """
    golden, candidate = ("\n".join(lines_of(text)[:_MOST_LINES]) for text in (golden, candidate))
    rows = compare(golden, candidate, ignore_whitespace=ignore_whitespace)
    left = _tokens_by_line(golden, "python")
    right = _tokens_by_line(candidate, "diff" if is_diff else "python")
    return tuple(_blocks([ShownRow(row.kind, _shown(row.left, left), _shown(row.right, right)) for row in rows]))


def beyond_comparison(golden: str, candidate: str) -> tuple[Rest, ...]:
    """What :func:`side_by_side` leaves out, so that a page can show it as plain text."""
    sides = (("golden function", lines_of(golden)), ("candidate", lines_of(candidate)))
    return tuple(
        Rest(side, _MOST_LINES + 1, "\n".join(lines[_MOST_LINES:])) for side, lines in sides if len(lines) > _MOST_LINES
    )


def numbered(text: str) -> tuple[ShownLine, ...]:
    """Python line by line, coloured."""
    source = code_with_visible_marks(text.replace("\r\n", "\n").rstrip("\n"))
    tokens = _tokens_by_line(source, "python")
    rows = [Line(number, line) for number, line in enumerate(source.split("\n"), start=1)]
    return tuple(ShownLine(line.number, _html(line, tokens[line.number - 1])) for line in rows)


def _shown(line: Line | None, tokens: Sequence[Sequence[Piece]]) -> ShownLine | None:
    return None if line is None else ShownLine(line.number, _html(line, tokens[line.number - 1]))


def _tokens_by_line(source: str, language: str) -> list[list[Piece]]:
    # Browsers take carriage returns for line ends.
    return tokens_by_line(source.replace("\r", " "), language)


def _html(line: Line, tokens: Sequence[Piece]) -> SafeString:
    """The line's code; words that differ stand in ``<mark>``."""
    pieces = _cut(tokens, line.marks)
    marked = groupby(pieces, key=lambda piece: piece[2])
    return mark_safe(  # noqa: S308 - each piece is escaped
        "".join(
            f"<mark>{spans}</mark>" if is_marked else spans
            for is_marked, group in marked
            if (spans := "".join(span(name, text) for name, text, _ in group))
        )
    )


def _cut(tokens: Iterable[Piece], marks: Sequence[tuple[int, int]]) -> Iterator[tuple[str, str, bool]]:
    """The tokens cut where marks begin and end: (class, text, whether it is marked)."""
    # Every other border ends a mark.
    borders = deque(border for mark in marks for border in mark)
    is_marked, place = False, 0
    for name, text in tokens:
        start = 0
        while borders and borders[0] < place + len(text):
            end = borders.popleft() - place
            if start < end:
                yield name, text[start:end], is_marked
            start, is_marked = end, not is_marked
        yield name, text[start:], is_marked
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
