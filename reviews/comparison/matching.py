"""Align two sequences with difflib, within a bound on its work."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Opcode: TypeAlias = tuple[str, int, int, int, int]


@dataclass(slots=True)
class Budget:
    """Steps that the matcher may still take for one page: ten million are less than a second."""

    steps: int = 10_000_000


def opcodes(left: Sequence[str], right: Sequence[str], budget: Budget) -> list[Opcode]:
    """As ``SequenceMatcher.get_opcodes``; only what both begin and end with where more would take too long.

    The matcher looks at each pair of equal items once for every match that it has found around them, which is cubic
    for texts made for it.
    """
    counts = Counter(right)
    pairs = sum(counts[item] for item in left)
    steps = (pairs + len(left)) * (min(len(left), len(right)) + 1)
    if steps <= budget.steps:
        budget.steps -= steps
        return list(SequenceMatcher(None, left, right, autojunk=False).get_opcodes())
    shortest = min(len(left), len(right))
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
