"""Draw the pass rates of a system's submissions over time, beside their table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from leaderboard.board.row import BoardRow, TestsCell

LEFT, RIGHT, TOP, BOTTOM = 34.0, 700.0, 12.0, 132.0
"""Position of the axes in the drawing, which is 720 wide and 156 high."""
TICKS: Final = (0, 50, 100)


@dataclass(frozen=True, slots=True)
class Point:
    """A submission: its position, its interval from ``high`` to ``low`` in the drawing, and its numbers in words."""

    x: float
    y: float
    low: float
    high: float
    words: str


@dataclass(frozen=True, slots=True)
class Series:
    """The submissions with the same inputs, oldest first; ``path`` joins them."""

    inputs: str
    points: tuple[Point, ...]

    @property
    def path(self) -> str:
        """The points of a polyline."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)


@dataclass(frozen=True, slots=True)
class History:
    """The drawing: lines, ticks of the scale (position, percentage), and the first and the last date."""

    series: tuple[Series, ...]
    ticks: tuple[tuple[float, int], ...]
    first: datetime
    last: datetime

    @property
    def one_day(self) -> bool:
        """Whether all submissions are of one day."""
        return self.first.date() == self.last.date()


def history_of(rows: Iterable[BoardRow]) -> History | None:
    """Draw the history of the rows that have unit tests and a date; None if there are none."""
    dated = [(row.date, row.tests, row) for row in rows if row.date and row.tests]
    if not dated:
        return None
    dated.sort(key=lambda each: (each[2].inputs_word, each[0]))
    first, last = min(each[0] for each in dated), max(each[0] for each in dated)
    series = tuple(
        Series(inputs, _points([(when, tests) for when, tests, _ in group], first, last))
        for inputs, group in groupby(dated, key=lambda each: each[2].inputs_word)
    )
    return History(series, tuple((_height(tick), tick) for tick in TICKS), first, last)


def _points(dated: Sequence[tuple[datetime, TestsCell]], first: datetime, last: datetime) -> tuple[Point, ...]:
    span = (last - first).total_seconds()
    found = []
    for when, tests in dated:
        share = (when - first).total_seconds() / span if span else 0.5
        low, high = (tests.percent if bound is None else bound for bound in (tests.low, tests.high))
        words = f"{when:%Y-%m-%d}: {tests.percent:.1f} % [{low:.1f}, {high:.1f}]"
        # A margin at both ends, so that no interval overlaps an axis.
        x = LEFT + 16 + share * (RIGHT - LEFT - 32)
        found.append(Point(x, _height(tests.percent), _height(low), _height(high), words))
    return tuple(found)


def _height(percent: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * percent / 100
