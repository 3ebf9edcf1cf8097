"""Two texts as aligned rows: what stands beside what, and which words of it differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from reviews.comparison.matching import Budget, opcodes
from reviews.comparison.words import Marks, counted, differing, likeness

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind: TypeAlias = Literal["equal", "changed", "added", "removed"]
Span: TypeAlias = tuple[int, int]

_LARGEST_BLOCK: Final = 2_500
"""Removed lines times added lines of one place: beyond it they are paired in their order."""
_ALIKE: Final = 0.4
"""Lines that share less are not taken for versions of each other."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of one side: its number from 1, its text without line end, and the words that differ.

    Words are only marked where the line beside it is taken for another version of it.
    """

    number: int
    text: str
    marks: Marks = ()


@dataclass(frozen=True, slots=True)
class Row:
    """What stands side by side. ``added`` has no left line, ``removed`` no right one."""

    kind: Kind
    left: Line | None
    right: Line | None


def lines_of(text: str) -> list[str]:
    """``text`` at its newlines, and nothing else that some call a line end; none for an empty text."""
    return text.split("\n") if text else []


def compare(golden: str, candidate: str, *, ignore_whitespace: bool = False) -> tuple[Row, ...]:
    """``golden`` on the left beside ``candidate`` on the right. Joined by newlines, each side is its text again.

    With ``ignore_whitespace``, lines that differ in blanks only are equal, each side with its own text.
    """
    left, right = lines_of(golden), lines_of(candidate)
    keys, other_keys = (
        ["".join(line.split()) for line in side] if ignore_whitespace else side for side in (left, right)
    )
    rows: list[Row] = []
    budget = Budget()
    for tag, start, end, other_start, other_end in opcodes(keys, other_keys, budget):
        if tag == "equal":
            rows.extend(
                Row(
                    "equal",
                    Line(start + step + 1, left[start + step]),
                    Line(other_start + step + 1, right[other_start + step]),
                )
                for step in range(end - start)
            )
        else:
            rows.extend(_changed(left, right, (start, end), (other_start, other_end), budget, ignore_whitespace))
    return tuple(rows)


def _changed(
    left: Sequence[str], right: Sequence[str], span: Span, other: Span, budget: Budget, ignore_whitespace: bool
) -> Iterator[Row]:
    """The rows of one place where the sides differ: versions of one line side by side, the rest in their order."""
    place, other_place = span[0], other[0]
    for first, second in [*_pairs(left, right, span, other), (span[1], other[1])]:
        yield from _unlike(left, right, (place, first), (other_place, second))
        if first < span[1] and second < other[1]:
            marks, other_marks = differing(left[first], right[second], budget, ignore_whitespace=ignore_whitespace)
            yield Row("changed", Line(first + 1, left[first], marks), Line(second + 1, right[second], other_marks))
        place, other_place = first + 1, second + 1


def _unlike(left: Sequence[str], right: Sequence[str], span: Span, other: Span) -> Iterator[Row]:
    """Lines that have nothing to do with each other: side by side all the same, so that a rewrite can be read.

    No word of them is marked.
    """
    for step in range(max(span[1] - span[0], other[1] - other[0])):
        first, second = span[0] + step, other[0] + step
        one = Line(first + 1, left[first]) if first < span[1] else None
        two = Line(second + 1, right[second]) if second < other[1] else None
        yield Row("changed" if one and two else "removed" if one else "added", one, two)


def _pairs(left: Sequence[str], right: Sequence[str], span: Span, other: Span) -> list[tuple[int, int]]:
    """Which lines are versions of each other: the pairs in order whose likeness sums up to the most."""
    rows, columns = range(*span), range(*other)
    if not rows or not columns or len(rows) * len(columns) > _LARGEST_BLOCK:
        return []
    ours, theirs = ([counted(side[place]) for place in places] for side, places in ((left, rows), (right, columns)))
    like = [[likeness(one, two) for two in theirs] for one in ours]
    best = [[0.0] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    for row in reversed(range(len(rows))):
        for column in reversed(range(len(columns))):
            paired = like[row][column] + best[row + 1][column + 1] if like[row][column] >= _ALIKE else 0.0
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
