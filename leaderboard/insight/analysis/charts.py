"""Define the charts of the analysis as plain values. Colours are names of the site's design tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.insight.analysis.axes import Axis

INK, MUTED, LINE, PAPER, SURFACE = "ink", "muted", "line", "paper", "surface"
GOOD, MIDDLE, BAD = "good", "middle", "bad"
"""The colours of labels. Orange (BAD) means LI in every chart; other series differ by their symbols."""
MOST_ROWS: Final = 40
"""Number of rows of a long table that are drawn; a chart with more is not readable."""
MOST_POINTS: Final = 300
"""Number of points of a plane that are drawn."""


class Point(NamedTuple):
    """A value with its interval, if it has one; ``at`` is its position on the other axis: a row, a day, a cost."""

    at: float
    value: float
    text: str
    low: float | None = None
    high: float | None = None


class Series(NamedTuple):
    """Points of one kind, without a ``name`` if the axis says what they are.

    Symbols are circle, ring, square, diamond (open) and cross.
    """

    name: str
    points: Sequence[Point]
    color: str
    symbol: str = "circle"


class Part(NamedTuple):
    """One part of every bar, with a value and a description for each."""

    name: str
    values: Sequence[float]
    texts: Sequence[str]
    color: str


class Cell(NamedTuple):
    """A cell of a grid: the share from 0 to 1 is its colour, ``shown`` is written in it."""

    share: float
    shown: str
    text: str


class Dots(NamedTuple):
    """A row for each name, with a point for each series. ``mark`` is where a line divides the values, if anywhere."""

    names: Sequence[str]
    series: Sequence[Series]
    axis: Axis
    mark: float | None = None


class Bars(NamedTuple):
    """A bar for each name; its parts are joined, or side by side."""

    names: Sequence[str]
    parts: Sequence[Part]
    axis: Axis
    joined: bool = True


class Grid(NamedTuple):
    """Coloured cells; None leaves one empty."""

    names: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell | None]]


class Plane(NamedTuple):
    """Points at positions of two axes, with a line of steps through ``line`` if it is not empty."""

    series: Sequence[Series]
    across: Axis
    up: Axis
    line: Sequence[tuple[float, float]] = ()
    line_name: str = ""


Chart: TypeAlias = Dots | Bars | Grid | Plane
