"""Two systems on the same tasks."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from leaderboard.agreement.types import Coefficient, Interval, SystemComparison
from leaderboard.board.statistics import wilson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def pass_rate(passed: Mapping[str, bool]) -> Coefficient:
    """The share of tasks that a system passes, with Wilson's interval. ``passed`` is by task."""
    if not passed:
        return Coefficient(None, None, "undefined: no task was run")
    k = sum(passed.values())
    return Coefficient(k / len(passed), Interval(*wilson(k, len(passed))))


def mcnemar(only_first: int, only_second: int) -> float:
    """The p value of McNemar's exact test: how likely so uneven a split of the tasks that one system alone passes is,
    if both pass equally often. 1 where there are no such tasks.
    """
    alone = only_first + only_second
    tail = sum(comb(alone, fewer) for fewer in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << alone))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values adjusted for being tested together (S. Holm 1979), in the given order."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, (len(p_values) - place) * p_values[number])
        adjusted[number] = min(1.0, largest)
    return adjusted


def compare_systems(passed: Mapping[str, Mapping[str, bool]]) -> list[SystemComparison]:
    """Every two systems on the tasks that both ran. ``passed`` is by system and task; p values are adjusted together.

    A model that passes everything is no trouble here, as it is for logistic models.
    """
    counted = [
        (first, second, _counts(passed[first], passed[second])) for first, second in combinations(sorted(passed), 2)
    ]
    p_values = [mcnemar(counts[1], counts[2]) for _, _, counts in counted]
    return [
        SystemComparison(first, second, *counts, p=p, adjusted_p=adjusted)
        for (first, second, counts), p, adjusted in zip(counted, p_values, holm(p_values), strict=True)
    ]


def _counts(first: Mapping[str, bool], second: Mapping[str, bool]) -> tuple[int, int, int, int]:
    """Of the shared tasks: passed by both, by the first alone, by the second alone, by neither."""
    outcomes = [(first[task], second[task]) for task in first.keys() & second.keys()]
    return (
        outcomes.count((True, True)),
        outcomes.count((True, False)),
        outcomes.count((False, True)),
        outcomes.count((False, False)),
    )
