"""Rows of the benchmark table, and progress of its parts."""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD: Final = ("measured", "ours", "beside it", "its time", "ratio", "goal", "reached")


@dataclass(frozen=True, slots=True)
class Goal:
    """At most ``times`` the time beside it plus ``plus`` seconds."""

    times: float = 0.0
    plus: float = 0.0

    def __str__(self) -> str:
        """Return the goal as the table shows it."""
        parts = [f"{self.times:g} ×"] if self.times else []
        return f"≤ {' + '.join([*parts, *([duration(self.plus)] if self.plus else [])])}"


@dataclass(frozen=True, slots=True)
class Row:
    """A measured time in seconds, what was measured beside it in the same run, and the goal.

    Without ``ours``, ``figure`` is what was measured instead of a time, or ``missing`` says why nothing was.
    """

    measured: str
    ours: float | None = None
    name: str = ""
    beside: float | None = None
    goal: Goal | None = None
    missing: str = ""
    figure: str = ""

    def cells(self) -> list[str]:
        """Return the row's text below :data:`HEAD`."""
        if self.ours is None:
            return [self.measured, self.figure or self.missing, *[""] * (len(HEAD) - 2)]
        limit = self.goal.times * (self.beside or 0.0) + self.goal.plus if self.goal else None
        return [
            self.measured,
            duration(self.ours),
            self.name,
            duration(self.beside) if self.beside is not None else "",
            f"{self.ours / self.beside:.2f}" if self.beside else "",
            str(self.goal or ""),
            "" if limit is None else "yes" if self.ours <= limit else f"no (at most {duration(limit)})",
        ]


def duration(seconds: float) -> str:
    """Return a time with three digits or so."""
    return f"{seconds:.1f} s" if seconds >= 2 else f"{1000 * seconds:.{0 if seconds >= 0.1 else 1}f} ms"


def p95(seconds: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return statistics.quantiles(seconds, n=20)[-1]


def progress(text: str) -> None:
    """Print progress; the table alone goes to standard output."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def measured(part: str, source: str, rounds: int) -> list[Row]:
    """Return the rows of a part. Runs in a process of its own, since Django's settings are read once."""
    rows: list[Row] = import_module(f"tests.perf.{part}").measure(source=source, rounds=rounds)
    return rows
