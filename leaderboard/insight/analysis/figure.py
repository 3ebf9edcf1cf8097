"""Types of the analysis: a figure with its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

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
    """One table, with the chart that is drawn from it.

    ``rows`` may be the first of ``known`` rows (0: they are all rows); ``addresses`` are their pages, empty for a row
    without one. ``notes`` are about these data; ``differences`` list where upstream's files and the paper disagree.
    ``missing`` is why there are no rows, or what is left out. ``chart`` makes Plotly's JSON; None without a chart.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    addresses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    missing: str = ""
    known: int = 0
    chart: Callable[[], Mapping[str, Any]] | None = None
