"""What the analysis of a suite is made of: figures with their tables, and the fit of the regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

Cell: TypeAlias = "str | int | float | date | None"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: ``key`` in exported data, and with how many ``digits`` pages write its numbers.

    Columns of words have no ``digits``.
    """

    key: str
    title: str
    digits: int | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One table, with the chart that is drawn from it.

    ``rows`` may be the first of ``known`` ones (0: they are all there are); ``addresses`` are their pages, empty where
    a row has none. ``notes`` are about these data; ``differences`` say where upstream's files and the paper disagree.
    ``missing`` says why there is nothing, or what is left out. ``chart`` makes Plotly's JSON; None without one.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    addresses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    missing: str = ""
    known: int = 0
    chart: Callable[[], Mapping[str, Any]] | None = None
