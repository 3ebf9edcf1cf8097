"""Find the rows above and below a row of a board, in the order in which the board shows them at first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from django.db.models import Q

from leaderboard.board.columns import DEFAULT_ORDER
from leaderboard.board.folding import folded
from leaderboard.board.matrix import has_marks
from leaderboard.board.rows import METRIC_PARTS, board_metrics, board_row, shown_metrics
from submissions.enums import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from django.db.models import QuerySet

    from leaderboard.board.row import BoardRow
    from leaderboard.models import EntryMetric

_READ: Final = 50
"""Most rows read in a direction: the first with results of single tasks is the next one."""


class Around(NamedTuple):
    """The rows next to a row that have results of single tasks."""

    above: BoardRow | None
    below: BoardRow | None


def rows_around(metric: EntryMetric, *, hidden: Collection[int] = ()) -> Around:
    """Return the rows above and below that of ``metric``, without those of the submissions ``hidden`` from the viewer.

    Rows that another row represents are skipped unless ``metric`` is one of them. A re-measured row with answers to
    some tasks only is below its reported row. The number of queries does not grow with the rows.
    """
    entry = metric.entry
    listed = board_metrics(entry.suite_version, kind=Kind(entry.kind)).exclude(entry__submission__in=hidden)
    if entry.kind == Kind.CALIBRATION:
        return Around(_next(listed, metric, back=True), _next(listed, metric, back=False))
    ordered = listed.filter(answered=None)
    if metric.represents is not None or metric.answered is not None:
        ordered = folded(ordered)
    if metric.answered is not None and entry.reported_run and entry.reported_run.remeasures_id:
        published = ordered.filter(entry__reported_run=entry.reported_run.remeasures_id).first()
        if published is None:
            return Around(None, None)
        return Around(_first([published]), _next(ordered, published, back=False))
    again = listed.filter(answered__isnull=False)
    above, below = _next(ordered, metric, back=True), _next(ordered, metric, back=False)
    return Around(_partial(again, above) or above, _partial(again, _row(metric)) or below)


def _next(listed: QuerySet[EntryMetric], metric: EntryMetric, *, back: bool) -> BoardRow | None:
    """Return the first row beyond ``metric`` with results of single tasks."""
    beyond = Q()
    for field in reversed(DEFAULT_ORDER):
        name, descends = field.removeprefix("-"), field.startswith("-")
        comparison = "lt" if descends != back else "gt"
        value = getattr(metric, name)
        beyond = Q(**{f"{name}__{comparison}": value}) | (Q(**{name: value}) & beyond if beyond else Q())
    order = [_reversed(field) for field in DEFAULT_ORDER] if back else DEFAULT_ORDER
    return _first(_read(listed.filter(beyond).order_by(*order)))


def _reversed(field: str) -> str:
    return field.removeprefix("-") if field.startswith("-") else f"-{field}"


def _read(listed: QuerySet[EntryMetric]) -> QuerySet[EntryMetric]:
    """Read the first rows of ``listed`` with what they are made of."""
    found = shown_metrics(listed[:_READ])
    return found.select_related(*METRIC_PARTS)


def _first(metrics: Iterable[EntryMetric]) -> BoardRow | None:
    return next((row for row in map(_row, metrics) if has_marks(row)), None)


def _row(metric: EntryMetric) -> BoardRow:
    return board_row(metric.entry, metric, 0)


def _partial(again: QuerySet[EntryMetric], row: BoardRow | None) -> BoardRow | None:
    """Return the re-measured row with answers to some tasks that is shown below ``row``, if any."""
    if row is None or not row.reported:
        return None
    slug = row.key.removeprefix("r-")
    return _first(_read(again.filter(entry__reported_run__remeasures__slug=slug).order_by("entry")))
