"""Types of the analysis: a figure with its table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from leaderboard.insight.analysis.charts import Chart

Cell: TypeAlias = "str | int | float | date | None"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: ``key`` in exported data, and the number of ``digits`` on pages.

    Columns of words have no ``digits``.
    """

    key: str
    title: str
    digits: int | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One table, with its chart and with what it shows.

    ``finding`` is the chart's claim, a sentence without its full stop; empty if the data support none. ``rows`` may be
    the first of ``known`` rows (0: they are all rows); ``addresses`` are their pages, empty for a row without one.
    ``notes`` are about these data; ``differences`` list where upstream's files and the paper disagree. ``missing`` is
    why there is no chart, or what is left out of it: a clause, since pages list several.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    finding: str = ""
    addresses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    missing: str = ""
    known: int = 0
    chart: Chart | None = None
