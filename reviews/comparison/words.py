"""Which words of two lines differ, and how alike the lines are."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from reviews.comparison.matching import opcodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviews.comparison.matching import Budget

Marks: TypeAlias = tuple[tuple[int, int], ...]
"""Character ranges of a line, sorted and apart from each other; ends are excluded."""

_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")


def words_of(text: str) -> list[str]:
    """``text`` cut into words, runs of blanks, and single signs; joined they are ``text``."""
    return _WORD.findall(text)


class WordCount(NamedTuple):
    """How often each word of a line stands in it, and how many words it has. Blanks are left out."""

    words: Counter[str]
    total: int


def counted(text: str) -> WordCount:
    """The words of ``text``, counted."""
    words = Counter(word for word in words_of(text) if not word.isspace())
    return WordCount(words, words.total())


def likeness(one: WordCount, other: WordCount) -> float:
    """Share of the words that two lines have in common, 0 to 1, whatever their order."""
    total = one.total + other.total
    return 2 * (one.words & other.words).total() / total if total else 1.0


def differing(one: str, other: str, budget: Budget, *, ignore_whitespace: bool) -> tuple[Marks, Marks]:
    """What of ``one`` is not in ``other``, and the reverse."""
    first, second = words_of(one), words_of(other)
    changes = [opcode[1:] for opcode in opcodes(first, second, budget) if opcode[0] != "equal"]
    return (
        _ranges(first, [(start, end) for start, end, _, _ in changes], ignore_whitespace),
        _ranges(second, [(start, end) for _, _, start, end in changes], ignore_whitespace),
    )


def _ranges(words: Sequence[str], changes: Sequence[tuple[int, int]], ignore_whitespace: bool) -> Marks:
    """Ranges of words as ranges of characters, those that touch joined."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    found: list[tuple[int, int]] = []
    for first, last in changes:
        if first == last or (ignore_whitespace and all(word.isspace() for word in words[first:last])):
            continue
        if found and found[-1][1] == starts[first]:
            found[-1] = (found[-1][0], starts[last])
        else:
            found.append((starts[first], starts[last]))
    return tuple(found)
