"""Match two lists whose order does not matter.

Elements whose encoding is identical are paired first, the rest by augmenting paths over "equal within the rule". Only
where different elements lie closer together than the tolerance could the first step take a partner that the second
would have needed; a task with such outputs should sort in ``run(case)`` instead.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.testing.box import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.testing.types import Data

MAX_INEXACT = 300
MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Expected elements without a partner: some of them, and whether there may be more."""

    elements: tuple[Data, ...]
    may_be_more: bool


def match(expected: list[Data], actual: list[Data], *, equal: Callable[[Data, Data], bool]) -> Unmatched | None:
    """Pair every expected element with one actual element that equals it; None when all have a partner.

    Both lists have one length. ``equal(expected, actual)`` need not be transitive. More than ``MAX_INEXACT`` elements
    without an identical partner are not searched and count as unmatched: the search takes cubic time.
    """
    left, right = _without_identical(expected, actual, equal)
    if len(left) > MAX_INEXACT:
        return Unmatched(tuple(left[:MAX_NAMED]), may_be_more=True)
    matching = _Matching(left, right, equal)
    missing: list[Data] = []
    for index, element in enumerate(left):
        if not matching.augment(index):
            missing.append(element)
        if len(missing) == MAX_NAMED:
            break
    return Unmatched(tuple(missing), may_be_more=len(missing) == MAX_NAMED) if missing else None


def _without_identical(
    expected: list[Data], actual: list[Data], equal: Callable[[Data, Data], bool]
) -> tuple[list[Data], list[Data]]:
    waiting: dict[bytes, list[Data]] = defaultdict(list)
    for element in actual:
        waiting[_identity(element)].append(element)
    left = []
    for element in expected:
        twins = waiting[_identity(element)]
        # An element that holds NaN need not equal its twin.
        if twins and equal(element, twins[-1]):
            twins.pop()
        else:
            left.append(element)
    return left, [element for twins in waiting.values() for element in twins]


def _identity(element: Data) -> bytes:
    """The element's encoding; nothing where it has none.

    A candidate may write JSON that is longer in our spelling (``1e9``) than a frame may be. It is wrong, not our fault.
    """
    try:
        return frames.encode(element)
    except frames.FrameError:
        return b""


class _Matching:
    """A growing bipartite matching (Kuhn's algorithm, breadth first)."""

    def __init__(self, left: list[Data], right: list[Data], equal: Callable[[Data, Data], bool]) -> None:
        self._left = left
        self._right = right
        self._equal = equal
        self._known: dict[tuple[int, int], bool] = {}
        self._partner_of_left: dict[int, int] = {}
        self._partner_of_right: dict[int, int] = {}

    def augment(self, start: int) -> bool:
        """Give ``start`` a partner, moving others where needed; say whether that was possible."""
        reached_from: dict[int, int] = {}
        queue = deque([start])
        while queue:
            one = queue.popleft()
            for other in range(len(self._right)):
                if other in reached_from or not self._may_pair(one, other):
                    continue
                reached_from[other] = one
                if other not in self._partner_of_right:
                    self._flip(other, reached_from)
                    return True
                queue.append(self._partner_of_right[other])
        return False

    def _may_pair(self, one: int, other: int) -> bool:
        if (one, other) not in self._known:
            self._known[one, other] = self._equal(self._left[one], self._right[other])
        return self._known[one, other]

    def _flip(self, other: int, reached_from: dict[int, int]) -> None:
        place: int | None = other
        while place is not None:
            one = reached_from[place]
            previous = self._partner_of_left.get(one)
            self._partner_of_left[one] = place
            self._partner_of_right[place] = one
            place = previous
