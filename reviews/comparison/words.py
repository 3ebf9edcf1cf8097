"""Which words of two lines differ, and how alike the lines are."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Marks: TypeAlias = tuple[tuple[int, int], ...]
"""Character ranges of a line, sorted and apart from each other; ends are excluded."""

_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_PAIRS: Final = 60_000
"""Words of one line times words of the other: beyond it both lines are marked whole."""


def words_of(text: str) -> list[str]:
    """``text`` cut into words, runs of blanks, and single signs; joined they are ``text``."""
    return _WORD.findall(text)


def likeness(one: str, other: str) -> float:
    """Share of the words (blanks left out) that two lines have in common, 0 to 1, whatever their order."""
    first, second = (Counter(word for word in words_of(text) if not word.isspace()) for text in (one, other))
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0


def whole(text: str) -> Marks:
    """The range of all of ``text`` but the blanks around it; none for a blank line."""
    stripped = text.strip()
    start = text.find(stripped)
    return ((start, start + len(stripped)),) if stripped else ()


def differing(one: str, other: str, *, ignore_whitespace: bool) -> tuple[Marks, Marks]:
    """What of ``one`` is not in ``other``, and the reverse."""
    first, second = words_of(one), words_of(other)
    if len(first) * len(second) > _MOST_PAIRS:
        return whole(one), whole(other)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    changes = [opcode[1:] for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
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
