"""Find the rows adjacent to a system's leading row on each board, to compare it with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode

from django.db.models import OuterRef, Subquery
from django.urls import reverse

from leaderboard.board.folding import folded
from leaderboard.board.rows import METRIC_PARTS, board_metrics, board_row, is_visible
from leaderboard.board.visibility import without_numbers
from leaderboard.models import EntryMetric
from submissions.enums import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from leaderboard.board.results import SystemRun
    from leaderboard.board.row import BoardRow

_CLOSE: Final = 1e-9


class Neighbour(NamedTuple):
    """A row adjacent to a system's leading one, its position in words, and the page that compares the two."""

    word: str
    row: BoardRow
    compare: str


def neighbours_of(runs: Iterable[SystemRun], hidden: Collection[int] = ()) -> dict[int, list[Neighbour]]:
    """Return suite version's id -> the rows of other systems adjacent to the leading one of ``runs``. Two queries.

    Each is the row that leads its system on the board.
    Submissions ``hidden`` from the viewer are left out; if there are any, no row has a rank.
    """
    leading = {
        run.entry.suite_version_id: run for run in runs if run.leads and run.row.tests and not run.row.calibration
    }
    own = EntryMetric.objects.filter(category=None, entry__in=[run.entry.pk for run in leading.values()])
    others = folded(board_metrics(OuterRef("entry__suite_version"), kind=Kind.RANKED))
    others = others.filter(is_visible("entry__", hidden=hidden)).exclude(entry__system=OuterRef("entry__system"))
    # By the column of the index; rows without a rate have a negative value there.
    above = others.filter(tests_order__gte=OuterRef("tests_order")).order_by("tests_order", "pk").values("pk")[:1]
    below = others.filter(tests_order__lt=OuterRef("tests_order"), tests_order__gte=0.0)
    below = below.order_by("-tests_order", "pk").values("pk")[:1]
    pairs = own.annotate(above=Subquery(above), below=Subquery(below)).values_list(
        "entry__suite_version", "above", "below"
    )
    beside = {version: [pk for pk in pair if pk] for version, *pair in pairs}
    listed = EntryMetric.objects.select_related(*METRIC_PARTS)
    metrics = listed.in_bulk([pk for found in beside.values() for pk in found])
    return {
        version: [_neighbour(leading[version], metrics[pk], hidden) for pk in found]
        for version, found in beside.items()
    }


def _neighbour(run: SystemRun, metric: EntryMetric, hidden: Collection[int]) -> Neighbour:
    (row,) = without_numbers([board_row(metric.entry, metric, 0)], hidden)
    difference = 100 * (metric.tests_rate or 0) - (run.row.tests.percent if run.row.tests else 0)
    word = "next above" if difference > _CLOSE else "next below" if difference < -_CLOSE else "level with it"
    version = run.entry.suite_version
    query = urlencode([("version", version.number), ("row", run.row.key), ("row", row.key)])
    return Neighbour(word, row, f"{reverse('compare', args=[version.suite.slug])}?{query}")
