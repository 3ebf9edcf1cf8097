"""Make the axes of charts: range and ticks, never finer than the data."""

from __future__ import annotations

from datetime import date
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST: Final = 6
"""Most ticks of an axis, so that labels do not touch on a phone."""
_STEPS: Final = (1, 2, 5)
_MONTHS: Final = (1, 2, 3, 6, 12, 24, 60, 120)
_DAYS: Final = (1, 2, 7, 14)
_LONGEST_IN_DAYS: Final = 60


class Axis(NamedTuple):
    """An axis from ``low`` to ``high``; ticks are values with their labels. ``log`` spaces values by ratio."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def share(self, value: float) -> float:
        """Return where a value is, from 0 (low) to 1 (high)."""
        if self.log:
            return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return (value - self.low) / (self.high - self.low)


def percent(title: str) -> Axis:
    """Make an axis from 0 to 100."""
    return Axis(title, 0, 100, tuple((tick, str(tick)) for tick in (0, 25, 50, 75, 100)))


def numbers(title: str, low: float, high: float, *, whole: bool = False) -> Axis:
    """Make an axis of numbers that includes ``low`` and ``high``; ``whole`` ones have no ticks between."""
    step = _step(max(high - low, 1 if whole else 1e-9), whole=whole)
    first, last = floor(low / step), max(ceil(high / step), floor(low / step) + 1)
    digits = max(0, -floor(log10(step)))
    ticks = tuple((place * step, _signed(place * step, digits)) for place in range(first, last + 1))
    return Axis(title, first * step, last * step, ticks)


def dollars(title: str, costs: Iterable[float]) -> Axis:
    """Make an axis of costs, by ratio if all are above zero."""
    known = sorted(costs)
    if known[0] <= 0:
        return numbers(title, 0, known[-1])
    low, high = _below(known[0]), _above(known[-1])
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    every = [step * 10.0**power for power in decades for step in _STEPS]
    inside = [tick for tick in every if low * 0.999 <= tick <= high * 1.001]
    if len(inside) > _MOST:
        tens = [10.0**power for power in decades if low * 0.999 <= 10.0**power <= high * 1.001]
        inside = tens[:: ceil(len(tens) / _MOST)]
    return Axis(title, low, high, tuple((tick, f"{tick:g}") for tick in inside), log=True)


def days(title: str, known: Iterable[date]) -> Axis:
    """Make an axis of days (:meth:`date.toordinal`) with a margin; the ticks are whole days, or months if long."""
    ordered = sorted(known)
    first, last = ordered[0].toordinal(), ordered[-1].toordinal()
    span = last - first
    room = max(1, span // 20)
    if span <= _LONGEST_IN_DAYS:
        step = next(step for step in _DAYS if span / step < _MOST - 1)
        shown = [date.fromordinal(day) for day in range(first, last + 1, step)]
        ticks = [(float(day.toordinal()), f"{day.day} {day:%b}") for day in shown]
        years = dict.fromkeys((str(ordered[0].year), str(ordered[-1].year)))
        title = f"{title}, {' to '.join(years)}"
    else:
        low, high = (day.year * 12 + day.month - 1 for day in (ordered[0], ordered[-1]))
        ticks = [
            (float(date(month // 12, month % 12 + 1, 1).toordinal()), _month(month))
            for month in _months(low, high)
            if month > low
        ]
    return Axis(title, first - room, last + room, tuple(ticks))


def months(title: str, known: Iterable[str]) -> Axis:
    """Make an axis of months, given as 2024-06; :func:`month_number` is a month's value."""
    ordered = sorted(map(month_number, known))
    low, high = ordered[0], ordered[-1]
    ticks = tuple((float(month), _month(month)) for month in _months(low, high))
    return Axis(title, low - 1, high + 1, ticks)


def month_number(month: str) -> int:
    """Return the number of months from year 0 to a month such as 2024-06."""
    year, number = month.split("-")
    return int(year) * 12 + int(number) - 1


def _months(low: int, high: int) -> list[int]:
    step = next((step for step in _MONTHS if (high - low) / step < _MOST - 1), _MONTHS[-1])
    return [month for month in range(low, high + 1) if month % step == 0]


def _month(number: int) -> str:
    return f"{number // 12}-{number % 12 + 1:02d}"


def _step(span: float, *, whole: bool) -> float:
    power = floor(log10(span / _MOST)) if span > 0 else 0
    sizes = [step * 10.0**each for each in range(power, power + 3) for step in _STEPS]
    return next(size for size in sizes if span / size <= _MOST - 1 and (size >= 1 or not whole))


def _below(value: float) -> float:
    power = 10.0 ** floor(log10(value))
    return max(step * power for step in _STEPS if step * power <= value * 1.0000001)


def _above(value: float) -> float:
    power = 10.0 ** floor(log10(value))
    return min(step * power for step in (*_STEPS, 10) if step * power > value * 1.0000001)


def _signed(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}") if round(value, digits) else "0"
