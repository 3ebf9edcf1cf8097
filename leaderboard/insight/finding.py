"""State a board's finding in two sentences: who leads, and how sure that is; with the lines of its chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from leaderboard.board.row import LEAST_TASKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.board.row import BoardRow, TestsCell

MOST_LINES: Final = 8
"""Systems in the chart."""
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_CLOSE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Finding:
    """``sentence`` names the leader, ``certainty`` qualifies it; ``lines`` are the rows of the chart."""

    sentence: str
    certainty: str
    lines: tuple[BoardRow, ...]

    @property
    def is_reported(self) -> bool:
        """Whether no row of the chart was measured on this site."""
        return bool(self.lines) and all(row.reported for row in self.lines)

    @property
    def text(self) -> str:
        """Both sentences."""
        return " ".join(filter(None, (self.sentence, self.certainty)))


def finding_of(
    rows: Sequence[BoardRow], *, ranked: int, scope: str = "", selected: bool = False, among_shown: bool = False
) -> Finding:
    """State the finding of ``rows``, which are sorted by unit tests, the best first, one row a system.

    ``ranked`` is the number of systems with a rank, ``scope`` follows the number of tasks (`` of Data Augmentation``).
    ``selected``: a filter chose the systems. ``among_shown``: ranks compare the rows shown, not the whole board.
    """
    lines = tuple(row for row in rows if row.tests or row.closed)[:MOST_LINES]
    best = next((row.tests for row in lines if row.tests), None)
    if best is None:
        empty = "No row matches these filters." if selected else f"No system has results{scope} yet."
        return Finding(empty, "", lines)
    if not best.passed:
        return Finding(f"No system solves any of the {best.tasks} tasks{scope}.", "", lines)
    ties = [row for row in lines if row.tests == best]
    averaged = any(row.trials > 1 for row in ties)
    return Finding(
        _leads([row.title_with_inputs for row in ties], best, scope, selected=selected, averaged=averaged),
        _certainty(ties, ranked=ranked, among_shown=among_shown),
        lines,
    )


def in_words(number: int) -> str:
    """Return a number up to ten as a word, others as digits."""
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"


def _leads(names: Sequence[str], best: TestsCell, scope: str, *, selected: bool, averaged: bool) -> str:
    solved = f"{_count(best.passed)} of {best.tasks} task{'' if best.tasks == 1 else 's'}{scope}"
    solved += " on average over trials" if averaged else ""
    among = "Of the systems shown, " if selected else ""
    if len(names) == 1:
        return f"{among}{names[0]} solves {'most: ' if selected else ''}{solved}."
    who = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) <= 3 else f"{in_words(len(names))} systems"
    sentence = f"{among}{who} lead: each solves {solved}."
    return sentence[0].upper() + sentence[1:]


def _certainty(ties: Sequence[BoardRow], *, ranked: int, among_shown: bool) -> str:
    leader, *others = ties
    assert leader.tests is not None  # noqa: S101 - for the type checker
    if leader.tests.few:
        return f"Fewer than {in_words(LEAST_TASKS)} tasks are too few to rank systems."
    if leader.rank is None:
        totals = leader.why_unranked == "total only"
        return "Only its total was published, so it cannot be compared task by task." if totals else ""
    first, last = leader.rank
    rest = ranked - 1
    which = "shown here task by task" if among_shown else "measured task by task"
    if rest < 1:
        return "" if among_shown else "No other system is measured task by task."
    subject = leader.title_with_inputs if others else "it"
    of_all = f"the other system {which}" if rest == 1 else f"the {in_words(rest)} other systems {which}"
    same = last - first
    if not same:
        return "" if first > 1 else f"Its lead over {of_all} is larger than the choice of papers explains."
    if same == rest:
        whom = {1: f"the other system {which}", 2: f"either of {of_all}"}.get(rest, f"any of {of_all}")
    else:
        whom = f"{in_words(same)} of {of_all}"
    return f"With {leader.tests.tasks} tasks, {subject} cannot be distinguished from {whom}."


def _count(passed: float) -> str:
    return f"{passed:.0f}" if abs(passed - round(passed)) < _CLOSE else f"{passed:.1f}"
