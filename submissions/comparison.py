"""Compare two texts side by side: pair their lines, mark the words that differ, and render both as HTML."""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.utils.safestring import SafeString, mark_safe

from submissions.highlighting import Piece, code_with_visible_marks, pieces_of, span, tokens_by_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

Opcode: TypeAlias = tuple[str, int, int, int, int]
Marks: TypeAlias = tuple[tuple[int, int], ...]
Span: TypeAlias = tuple[int, int]

MOST_LINES: Final = 3_000
"""The most lines of one side that are compared: each is a row of the page's table."""
_LONGEST_RUN: Final = 8
"""Longer runs of unchanged lines are folded, except for :data:`_KEPT` lines next to each change."""
_KEPT: Final = 3
_SHORT_DOCSTRING: Final = 3
"""A docstring with so many lines stays visible."""
_LARGEST_BLOCK: Final = 2_500
"""Removed lines times added lines of one change. Beyond this product, lines are paired in order."""
_LEAST_LIKENESS: Final = 0.4
"""Lines that share fewer of their words are not treated as versions of each other."""
_DOCSTRING: Final = '"""\N{HORIZONTAL ELLIPSIS}"""'
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(slots=True)
class Budget:
    """Steps left to the matcher for one page; ten million take less than a second."""

    steps: int = 10_000_000


@dataclass(slots=True)
class Line:
    """One line of one side: its number from 1, its text, where words differ (character ranges), and its safe HTML.

    Words are marked only if the line next to it is treated as another version of it.
    """

    number: int
    text: str
    marks: Marks = ()
    html: SafeString | str = ""


@dataclass(slots=True)
class Row:
    """Two lines side by side: ``equal``, ``changed``, ``added`` (no left line) or ``removed`` (no right one).

    ``below`` holds what the page shows under the row; ``docstring`` is set by ``side_by_side(docstring_blocks=True)``.
    """

    kind: str
    left: Line | None
    right: Line | None
    below: list[Any] = field(default_factory=list)
    docstring: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A run of equal rows, shown or ``folded`` (one in a ``docstring`` names it), or a run of ``changed`` rows."""

    rows: tuple[Row, ...]
    folded: bool = False
    changed: bool = False
    docstring: bool = False

    @property
    def is_hidden(self) -> bool:
        """Return whether a page hides the rows until they are unfolded: never rows with something below them."""
        return self.folded and not any(row.below for row in self.rows)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts side by side. ``rest`` lists text beyond the table's limit: side, number of the first line, text."""

    blocks: tuple[Block, ...]
    rest: tuple[tuple[str, int, str], ...] = ()

    @property
    def has_changes(self) -> bool:
        """Return whether the texts differ."""
        return any(block.changed for block in self.blocks)

    @property
    def rows(self) -> list[Row]:
        """Return all rows, folded or not."""
        return [row for block in self.blocks for row in block.rows]


def lines_of(text: str) -> list[str]:
    """Split ``text`` at newlines only, not at other line separators; an empty text has no lines."""
    return text.split("\n") if text else []


def side_by_side(
    left: str,
    right: str,
    *,
    ignore_whitespace: bool = False,
    languages: tuple[str, str] = ("python", "python"),
    fold_docstrings: bool = False,
    docstring_blocks: bool = False,
) -> Comparison:
    """Compare ``left`` with ``right``, highlighted and with long unchanged runs folded.

    With ``fold_docstrings``, each docstring is shortened to one line. With ``docstring_blocks``, docstrings' rows are
    marked, and the unchanged lines below a docstring's first one are a folded block of their own.
    """
    texts = [left, right]
    numbers: list[Sequence[int]] = [range(1, len(lines_of(text)) + 1) for text in texts]
    if fold_docstrings:
        short = [_short_docstrings(text, language) for text, language in zip(texts, languages, strict=True)]
        texts, numbers = [text for text, _ in short], [places for _, places in short]
    sides = [lines_of(text) for text in texts]
    rows = compare(*("\n".join(side[:MOST_LINES]) for side in sides), ignore_whitespace=ignore_whitespace)
    for lines, language, places in (
        ([row.left for row in rows if row.left], languages[0], numbers[0]),
        ([row.right for row in rows if row.right], languages[1], numbers[1]),
    ):
        _colour(lines, language)
        for line in lines:
            line.number = places[line.number - 1]
    rest = tuple(
        (name, places[MOST_LINES], "\n".join(side[MOST_LINES:]))
        for name, side, places in zip(("left", "right"), sides, numbers, strict=True)
        if len(side) > MOST_LINES
    )
    if docstring_blocks:
        _mark_docstrings(rows, [_docstring_lines(*side) for side in zip(texts, languages, strict=True)])
    return Comparison(tuple(_blocks(rows)), rest)


def _short_docstrings(text: str, language: str) -> tuple[str, list[int]]:
    """Replace each docstring by one line; return the text and the original number of each line."""
    shown, numbers, line = "", [1], 1
    for kind, group in groupby(pieces_of(text, language), key=lambda piece: piece[0]):
        source = "".join(piece for _, piece in group)
        shown += _DOCSTRING if kind == "sd" else source
        if kind != "sd":
            numbers += range(line + 1, line + 1 + source.count("\n"))
        line += source.count("\n")
    return shown, numbers


def _docstring_lines(text: str, language: str) -> set[int]:
    """Return the numbers of the lines of each docstring."""
    found: set[int] = set()
    line = 1
    for is_docstring, group in groupby(pieces_of(text, language), key=lambda piece: piece[0] == "sd"):
        ends = sum(piece.count("\n") for _, piece in group)
        if is_docstring:
            found |= {*range(line, line + ends + 1)}
        line += ends
    return found


def _mark_docstrings(rows: Iterable[Row], docstrings: Sequence[Collection[int]]) -> None:
    for row in rows:
        sides = zip((row.left, row.right), docstrings, strict=True)
        row.docstring = all(line.number in lines for line, lines in sides if line)


def numbered(text: str) -> list[Line]:
    """Return the highlighted lines of Python source ``text``."""
    source = code_with_visible_marks(text.replace("\r\n", "\n").rstrip("\n"))
    lines = [Line(number, line) for number, line in enumerate(source.split("\n"), start=1)]
    _colour(lines, "python")
    return lines


def compare(left: str, right: str, *, ignore_whitespace: bool = False) -> list[Row]:
    """Return both texts as rows. Joining the lines of a side with newlines restores its text.

    With ``ignore_whitespace``, lines that differ only in whitespace are equal; each side keeps its own text.
    """
    ours, theirs = lines_of(left), lines_of(right)
    keys, other_keys = (
        ["".join(line.split()) for line in side] if ignore_whitespace else side for side in (ours, theirs)
    )
    rows: list[Row] = []
    budget = Budget()
    for tag, start, end, other_start, other_end in opcodes(keys, other_keys, budget):
        if tag == "equal":
            places = zip(range(start, end), range(other_start, other_end), strict=True)
            rows += (Row("equal", Line(one + 1, ours[one]), Line(two + 1, theirs[two])) for one, two in places)
        else:
            rows += _changed(ours, theirs, (start, end), (other_start, other_end), budget, ignore_whitespace)
    return rows


def opcodes(left: Sequence[str], right: Sequence[str], budget: Budget) -> list[Opcode]:
    """Return what ``SequenceMatcher.get_opcodes`` does, or just the common head and tail if that costs too much.

    The matcher visits each pair of equal items once for every match found around it: cubic time for adversarial
    texts.
    """
    counts = Counter(right)
    shortest = min(len(left), len(right))
    steps = (sum(counts[item] for item in left) + len(left)) * (shortest + 1)
    if steps <= budget.steps:
        budget.steps -= steps
        return list(SequenceMatcher(None, left, right, autojunk=False).get_opcodes())
    head = next((place for place in range(shortest) if left[place] != right[place]), shortest)
    rest = shortest - head
    tail = next((step for step in range(rest) if left[-1 - step] != right[-1 - step]), rest)
    end, other_end = len(left) - tail, len(right) - tail
    parts = [
        ("equal", 0, head, 0, head),
        ("replace", head, end, head, other_end),
        ("equal", end, len(left), other_end, len(right)),
    ]
    return [part for part in parts if part[1] < part[2] or part[3] < part[4]]


def _changed(
    left: Sequence[str], right: Sequence[str], span_: Span, other: Span, budget: Budget, ignore_whitespace: bool
) -> Iterator[Row]:
    """Yield the rows of one change: versions of the same line side by side, other lines in order."""
    place, other_place = span_[0], other[0]
    for first, second in [*_pairs(left, right, span_, other), (span_[1], other[1])]:
        # Unrelated lines are placed side by side too, so that a rewrite stays readable.
        for step in range(max(first - place, second - other_place)):
            one = Line(place + step + 1, left[place + step]) if place + step < first else None
            two = Line(other_place + step + 1, right[other_place + step]) if other_place + step < second else None
            yield Row("changed" if one and two else "removed" if one else "added", one, two)
        if first < span_[1] and second < other[1]:
            marks, other_marks = differing(left[first], right[second], budget, ignore_whitespace=ignore_whitespace)
            yield Row("changed", Line(first + 1, left[first], marks), Line(second + 1, right[second], other_marks))
        place, other_place = first + 1, second + 1


def _pairs(left: Sequence[str], right: Sequence[str], span_: Span, other: Span) -> list[tuple[int, int]]:
    """Return the lines that are versions of each other: the ordered pairs with the largest total likeness."""
    rows, columns = range(*span_), range(*other)
    if not rows or not columns or len(rows) * len(columns) > _LARGEST_BLOCK:
        return []
    ours, theirs = ([_words(side[place]) for place in places] for side, places in ((left, rows), (right, columns)))
    like = [[likeness(one, two) for two in theirs] for one in ours]
    best = [[0.0] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    for row in reversed(range(len(rows))):
        for column in reversed(range(len(columns))):
            paired = like[row][column] + best[row + 1][column + 1] if like[row][column] >= _LEAST_LIKENESS else 0.0
            best[row][column] = max(paired, best[row + 1][column], best[row][column + 1])
    pairs, row, column = [], 0, 0
    while row < len(rows) and column < len(columns):
        if best[row][column] == best[row + 1][column]:
            row += 1
        elif best[row][column] == best[row][column + 1]:
            column += 1
        else:
            pairs.append((rows[row], columns[column]))
            row, column = row + 1, column + 1
    return pairs


def _words(text: str) -> Counter[str]:
    return Counter(word for word in _WORD.findall(text) if not word.isspace())


def likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of words that two lines have in common, 0 to 1, regardless of order."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def differing(one: str, other: str, budget: Budget, *, ignore_whitespace: bool) -> tuple[Marks, Marks]:
    """Return the ranges of ``one`` that are not in ``other``, and the reverse."""
    first, second = _WORD.findall(one), _WORD.findall(other)
    changes = [opcode[1:] for opcode in opcodes(first, second, budget) if opcode[0] != "equal"]
    return (
        _ranges(first, [(start, end) for start, end, _, _ in changes], ignore_whitespace),
        _ranges(second, [(start, end) for _, _, start, end in changes], ignore_whitespace),
    )


def _ranges(words: Sequence[str], changes: Sequence[Span], ignore_whitespace: bool) -> Marks:
    """Convert ranges of words to ranges of characters, joining adjacent ones."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    found: list[Span] = []
    for first, last in changes:
        if first == last or (ignore_whitespace and all(word.isspace() for word in words[first:last])):
            continue
        if found and found[-1][1] == starts[first]:
            found[-1] = (found[-1][0], starts[last])
        else:
            found.append((starts[first], starts[last]))
    return tuple(found)


def _colour(lines: Sequence[Line], language: str) -> None:
    """Set the HTML of consecutive lines, with differing words in ``<mark>``."""
    # Browsers treat carriage returns as line ends.
    source = "\n".join(line.text for line in lines).replace("\r", " ")
    for line, tokens in zip(lines, tokens_by_line(source, language), strict=False):
        marked = groupby(_cut(tokens, line.marks), key=lambda piece: piece[2])
        html = ((is_marked, "".join(span(name, text) for name, text, _ in group)) for is_marked, group in marked)
        line.html = mark_safe(  # noqa: S308 - each piece is escaped
            "".join(f"<mark>{spans}</mark>" if is_marked and spans else spans for is_marked, spans in html)
        )


def _cut(tokens: Iterable[Piece], marks: Marks) -> Iterator[tuple[str, str, bool]]:
    """Yield the tokens, split where marks begin and end: (class, text, whether it is marked)."""
    # Borders alternate between the start and the end of a mark.
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


def _blocks(rows: list[Row]) -> Iterator[Block]:
    """Yield the rows in blocks; the middle of a long unchanged run, and an unchanged docstring, are folded."""

    def kind(row: Row) -> tuple[bool, bool]:
        is_equal = row.kind == "equal"
        return is_equal, is_equal and row.docstring

    for (is_equal, is_docstring), group in groupby(rows, key=kind):
        run = tuple(group)
        head = _KEPT if run[0] is not rows[0] else 0
        end = len(run) - (_KEPT if run[-1] is not rows[-1] else 0)
        if is_docstring and len(run) > _SHORT_DOCSTRING:
            yield Block(run[:1])
            yield Block(run[1:], folded=True, docstring=True)
        elif not is_equal:
            yield Block(run, changed=True)
        elif len(run) <= _LONGEST_RUN or len(run) == len(rows):
            yield Block(run)
        else:
            parts = (Block(run[:head]), Block(run[head:end], folded=True), Block(run[end:]))
            yield from (part for part in parts if part.rows)
