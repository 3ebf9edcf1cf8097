"""Compute the Pareto front of score and cost, records over time, and the widest interval."""

from __future__ import annotations

from statistics import mode
from typing import TYPE_CHECKING

from leaderboard.statistics.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence


def pareto_front(points: Sequence[tuple[float, float]]) -> set[int]:
    """Return the indices of the points (cost, score) for which no other is cheaper or better, and in neither worse.

    Points that are equal in both are on the front together.
    """
    front: set[int] = set()
    best = float("-inf")
    ordered = sorted(range(len(points)), key=lambda place: (points[place][0], -points[place][1]))
    for place in ordered:
        cost, score = points[place]
        if score > best:
            front.add(place)
            best, cheapest = score, cost
        elif front and (cost, score) == (cheapest, best):
            front.add(place)
    return front


def records(scores: Sequence[float]) -> list[float]:
    """Return the best score so far at each index."""
    found: list[float] = []
    for score in scores:
        found.append(max(score, found[-1]) if found else score)
    return found


def widest_interval(counted: Sequence[int]) -> tuple[str, ...]:
    """Describe how wide a Wilson interval can be with the number of tasks that most rows count; empty without rows.

    It is widest if half of the tasks pass.
    """
    if not counted:
        return ()
    tasks = mode(counted)
    low, high = wilson(tasks / 2, tasks)
    noun = "task" if tasks == 1 else "tasks"
    return (f"With {tasks} {noun} an interval is up to {100 * (high - low):.0f} points wide.",)
