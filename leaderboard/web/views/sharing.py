"""Serve what others embed or subscribe to: a system's badge, and a board's new rows as an Atom feed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from django.contrib.syndication.views import Feed
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from leaderboard.board.folding import folded
from leaderboard.board.rows import tests_cell, visible_entries
from leaderboard.board.visibility import closed_submissions
from leaderboard.models import EntryMetric
from submissions.enums import Inputs, Kind
from submissions.models import System

if TYPE_CHECKING:
    from datetime import datetime
    from typing import TypeAlias

    from django.http import HttpRequest

    from leaderboard.board.row import TestsCell
    from leaderboard.models import Entry

    _Rows: TypeAlias = Feed[Entry, "FeedRequest"]
else:
    _Rows = Feed

NEWEST: Final = 50
_CHARACTER: Final = 6.4
"""The mean width of a character at the badge's size, in pixels."""


@require_safe
def badge(request: HttpRequest, slug: str) -> HttpResponse:
    """Draw a system's pass rate with its interval as SVG: newest version of ``?suite=``, all inputs.

    Without ``?suite=``, the first suite that has a row of the system. The row is the one that represents the system's
    rows on the board.
    """
    system = get_object_or_404(System, slug=slug)
    rows = visible_entries().filter(system=system, kind=Kind.RANKED, inputs=Inputs.FULL)
    if suite := request.GET.get("suite"):
        rows = rows.filter(suite_version__suite__slug=suite) if suite.isprintable() else rows.none()
    entry = (
        rows.filter(pk__in=folded(EntryMetric.objects.filter(category=None, entry__system=system)).values("entry"))
        .select_related("suite_version__suite")
        .order_by("suite_version__suite__position", "-suite_version__number")
        .first()
    )
    cell = tests_cell(entry.metrics.filter(category=None).first()) if entry else None
    if entry is None or cell is None:
        raise Http404("No unit tests of this system are published there.")
    label = entry.suite_version.suite.title
    value = "hidden while you label" if entry.submission_id in closed_submissions(request) else _pass_rate(cell)
    left, right = (round(len(text) * _CHARACTER) + 14 for text in (label, value))
    context = {
        "label": label,
        "value": value,
        "left": left,
        "width": left + right,
        "middles": (left / 2, left + right / 2),
    }
    response = render(request, "leaderboard/badge.svg", context, content_type="image/svg+xml")
    # A signed-in annotator's badge may hide numbers, so only anonymous visitors' badges are cached publicly.
    response["Cache-Control"] = "private, no-cache" if request.user.is_authenticated else "public, max-age=300"
    return response


def _pass_rate(cell: TestsCell) -> str:
    """Format the pass rate with its interval, or as passed of all if there are few tasks."""
    if cell.few:
        return f"{cell.passed:g}/{cell.tasks}"
    interval = "" if cell.low is None or cell.high is None else f" [{cell.low:.1f}, {cell.high:.1f}]"
    return f"{cell.percent:.1f} %{interval}"


class FeedRequest(NamedTuple):
    """The suite of a feed, and the submissions ``hidden`` from the viewer."""

    suite: Suite
    hidden: frozenset[int]


class NewRows(_Rows):
    """The newest rows of a suite's board that were measured here, without those hidden from the viewer."""

    feed_type = Atom1Feed

    def get_object(self, request: HttpRequest, suite: str) -> FeedRequest:
        """Return the suite, and the submissions hidden from the viewer."""
        return FeedRequest(get_object_or_404(Suite, slug=suite), closed_submissions(request))

    def title(self, feed: FeedRequest) -> str:
        """Return the board's name."""
        return f"{feed.suite.title} board"

    def subtitle(self, feed: FeedRequest) -> str:
        """Describe the feed's contents."""
        return f"New rows of the {feed.suite.title} board"

    def link(self, feed: FeedRequest) -> str:
        """Return the board's address."""
        return reverse("board", args=[feed.suite.slug])

    def items(self, feed: FeedRequest) -> list[Entry]:
        """Return the newest rows, with everything that the other methods read."""
        rows = visible_entries(feed.hidden).filter(
            suite_version__suite=feed.suite, kind=Kind.RANKED, date__isnull=False
        )
        return list(
            rows.select_related("system", "suite_version", "submission", "reported_run")
            .prefetch_related("metrics")
            .order_by("-date", "-pk")[:NEWEST]
        )

    def item_title(self, item: Entry) -> str:
        """Return the system's name and the number of tasks it passes."""
        cell = tests_cell(next((metric for metric in item.metrics.all() if metric.category_id is None), None))
        return f"{item.system.name}: {cell.passed:g} of {cell.tasks} tasks" if cell else item.system.name

    def item_description(self, item: Entry) -> str:
        """Return the system's inputs and the suite version."""
        return f"Given {Inputs(item.inputs).label}; version {item.suite_version.number} of the suite."

    def item_updateddate(self, item: Entry) -> datetime:
        """Return the time of publication."""
        assert item.date is not None  # noqa: S101 - filtered above, for the type checker
        return item.date

    item_pubdate = item_updateddate
