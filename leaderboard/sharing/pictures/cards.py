"""Lay out the preview pictures of pages as plain values: bars and texts with their positions."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from submissions.enums import Inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.board.row import BoardRow
    from leaderboard.insight.comparing import Compared
    from leaderboard.insight.finding import Finding

_DASH: Final = "\N{EN DASH}"
MOST_BARS: Final = 6
_LONGEST_NAME: Final = 30
_LONGEST_TITLE: Final = 48
_LONGEST_LINE: Final = 76
_LONGEST_SUBTITLE: Final = 88
_MOST_LINES: Final = 3
_SCALE_LEFT, _SCALE_WIDTH = 520, 470
_TOP, _BOTTOM = 262, 540
_LEAST_HEIGHT: Final = 33
_MOST_HEIGHT: Final = 62


@dataclass(frozen=True, slots=True)
class Bar:
    """A row: the share of tests that pass, with its interval, as pixels from the left; ``y`` is its middle.

    ``at`` is None if the share is hidden from the viewer; ``value`` then says that it is hidden.
    """

    y: int
    name: str
    note: str
    value: str
    at: float | None
    low: float | None
    high: float | None

    @property
    def width(self) -> float:
        """The width of the interval."""
        return 0 if self.low is None or self.high is None else self.high - self.low


@dataclass(frozen=True, slots=True)
class Card:
    """A picture of 1200 by 630 pixels: a title with a line below it, bars, then a sentence in ``lines``."""

    title: str
    subtitle: str
    bars: tuple[Bar, ...]
    lines: tuple[tuple[int, str], ...]
    footer: str


def card(
    *, title: str, subtitle: str, rows: Sequence[tuple[str, str, BoardRow]], footer: str, sentence: str = ""
) -> Card:
    """Lay out a card. ``rows`` are (name, text below it, the row); those without unit tests have no bar.

    A row that the viewer is labelling has its name, and is shown as hidden.
    """
    lines = [_cut(line, _LONGEST_LINE + 1) for line in wrap(sentence, _LONGEST_LINE)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], _cut(f"{lines[_MOST_LINES - 1]} …", _LONGEST_LINE)]
    room = _BOTTOM - _TOP - (40 * len(lines) + 30 if lines else 0)
    shown = [(name, note, row) for name, note, row in rows if row.tests or row.closed]
    shown = shown[: min(MOST_BARS, room // _LEAST_HEIGHT)]
    height = min(_MOST_HEIGHT if len(shown) > 1 else 2 * _MOST_HEIGHT, room // max(1, len(shown)))
    end = _TOP + height * len(shown) + (40 if shown else 0)
    return Card(
        title=_cut(title, _LONGEST_TITLE),
        subtitle=_cut(subtitle, _LONGEST_SUBTITLE),
        bars=tuple(_bar(_TOP + height // 2 + place * height, *each) for place, each in enumerate(shown)),
        lines=tuple((end + 38 * place, line) for place, line in enumerate(lines)),
        footer=footer,
    )


def board_card(title: str, finding: Finding) -> Card:
    """Lay out a board's finding: the lines of its chart with their rank bands, and its two sentences."""
    fits = len(finding.sentence) <= _LONGEST_TITLE
    return card(
        title=finding.sentence if fits else title,
        subtitle=f"{title}: unit tests passed, in per cent",
        rows=[(row.title_with_inputs, row.rank_words, row) for row in finding.lines],
        sentence=finding.certainty if fits else finding.text,
        footer="Bars are 95 % intervals; ranks are all that are possible.",
    )


def rows_card(title: str, rows: Sequence[BoardRow], *, number: int, tasks: int, subtitle: str) -> Card:
    """Lay out the best rows of a frozen board."""
    systems = f"{number} row{'s' if number != 1 else ''} on {tasks} task{'s' if tasks != 1 else ''}"
    return card(
        title=title,
        subtitle=subtitle,
        rows=[(row.system, _inputs(row), row) for row in rows],
        footer=f"{systems}. Bars are 95 % intervals.",
    )


def system_card(name: str, facts: str, runs: Sequence[tuple[str, BoardRow]]) -> Card:
    """Lay out one system's rows, with the suites' titles."""
    standings = [f"{suite}: {_standing(row)}" for suite, row in runs if row.tests]
    return card(
        title=name,
        subtitle=facts or "Unit tests passed, in per cent",
        rows=[(suite, _inputs(row), row) for suite, row in runs],
        sentence=". ".join(standings[:2]),
        footer="Unit tests passed, in per cent, with 95 % intervals.",
    )


def compare_card(suite: str, rows: Sequence[BoardRow], pairs: Sequence[Compared]) -> Card:
    """Lay out two to four rows, with the difference of the first two."""
    (first, *more) = pairs
    pair = first.pair
    found = ""
    if pair is not None:
        bounds = "" if pair.low is None or pair.high is None else f" [{pair.low:+.1f}, {pair.high:+.1f}]"
        found = f"Difference {pair.difference:+.1f}{bounds} points, "
    return card(
        title=" against ".join(_cut(row.system, 21 if len(rows) == 2 else 14) for row in rows[:2])
        + (f" and {len(rows) - 2} more" if more else ""),
        subtitle=f"{suite}: unit tests passed, in per cent",
        rows=[(row.system, _inputs(row), row) for row in rows],
        sentence=f"{first.words} {found}{first.p_words}".strip(),
        footer="Bars are 95 % intervals; p by McNemar's exact test.",
    )


def _inputs(row: BoardRow) -> str:
    """Return the system's inputs, empty for full inputs."""
    return "" if row.inputs == Inputs.FULL else row.inputs_word


def _standing(row: BoardRow) -> str:
    """Describe rank band and passed tasks."""
    assert row.tests is not None  # noqa: S101 - as in _bar
    passed = f"{row.tests.passed:g} of {row.tests.tasks} tasks pass"
    if row.rank is None:
        return passed
    first, last = row.rank
    return f"rank {first}{f'{_DASH}{last}' if last != first else ''}, {passed}"


def _bar(y: int, name: str, note: str, row: BoardRow) -> Bar:
    tests, cut = row.tests, _cut(name, _LONGEST_NAME - 6 * len(note) // 10)
    if row.closed:
        return Bar(y=y, name=cut, note=note, value="hidden while you label", at=None, low=None, high=None)
    assert tests is not None  # noqa: S101 - the caller left out the others, for the type checker
    few = tests.few
    low, high = (None, None) if few else (tests.low, tests.high)
    return Bar(
        y=y,
        name=cut,
        note=note,
        value=f"{tests.passed:g}/{tests.tasks}" if few else f"{tests.percent:.1f}",
        at=_pixels(tests.percent),
        low=None if low is None else _pixels(low),
        high=None if high is None else _pixels(high),
    )


def _pixels(percent: float) -> float:
    return round(_SCALE_LEFT + _SCALE_WIDTH * percent / 100, 1)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
