"""What others embed or subscribe to: a system's badge, and new rows as an Atom feed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from django.contrib.syndication.views import Feed
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from leaderboard.board.rows import tests_cell, visible_entries
from leaderboard.board.visibility import closed_submissions
from submissions.enums import Inputs, Kind
from submissions.models import System

if TYPE_CHECKING:
    from datetime import datetime
    from typing import TypeAlias

    from django.http import HttpRequest

    from leaderboard.board.row import TestsCell
    from leaderboard.models import Entry

    _Rows: TypeAlias = Feed[Entry, "AskedFeed"]
else:
    _Rows = Feed

NEWEST: Final = 50
_CHARACTER: Final = 6.4
"""The mean width of a character at the badge's size, in pixels."""


@require_safe
def badge(request: HttpRequest, slug: str) -> HttpResponse:
    """A system's unit tests with their interval as SVG, on the newest version of ``?suite=``, with all inputs.

    Without a suite, on the first one that has a row of the system.
    """
    system = get_object_or_404(System, slug=slug)
    rows = visible_entries().filter(system=system, kind=Kind.RANKED, inputs=Inputs.FULL)
    if suite := request.GET.get("suite"):
        rows = rows.filter(suite_version__suite__slug=suite) if suite.isprintable() else rows.none()
    entry = (
        rows.select_related("suite_version__suite")
        .order_by("suite_version__suite__position", "-suite_version__number", "-date", "-pk")
        .first()
    )
    cell = tests_cell(entry.metrics.filter(category=None).first()) if entry else None
    if entry is None or cell is None:
        raise Http404("No unit tests of this system are published there.")
    label = entry.suite_version.suite.title
    value = "hidden while you label" if entry.submission_id in closed_submissions(request) else _standing(cell)
    left, right = (round(len(text) * _CHARACTER) + 14 for text in (label, value))
    context = {
        "label": label,
        "value": value,
        "left": left,
        "width": left + right,
        "middles": (left / 2, left + right / 2),
    }
    response = render(request, "leaderboard/badge.svg", context, content_type="image/svg+xml")
    # What an annotator sees is hers alone; caches keep what everybody sees.
    response["Cache-Control"] = "private, no-cache" if request.user.is_authenticated else "public, max-age=300"
    return response


def _standing(cell: TestsCell) -> str:
    """Unit tests with their interval, or as passed of all where they are few."""
    if cell.few:
        return f"{cell.passed:g}/{cell.tasks}"
    interval = "" if cell.low is None or cell.high is None else f" [{cell.low:.1f}, {cell.high:.1f}]"
    return f"{cell.percent:.1f} %{interval}"


class AskedFeed(NamedTuple):
    """A suite, and the submissions that are ``hidden`` from the viewer of its feed."""

    suite: Suite
    hidden: frozenset[int]


class NewRows(_Rows):
    """The newest rows of a suite's board that this site measured, without what is hidden from the viewer."""

    feed_type = Atom1Feed

    def get_object(self, request: HttpRequest, suite: str) -> AskedFeed:
        """The suite, and what is hidden from the viewer."""
        return AskedFeed(get_object_or_404(Suite, slug=suite), closed_submissions(request))

    def title(self, asked: AskedFeed) -> str:
        """Its board's name."""
        return f"{asked.suite.title} board"

    def subtitle(self, asked: AskedFeed) -> str:
        """What is in it."""
        return f"New rows of the {asked.suite.title} board"

    def link(self, asked: AskedFeed) -> str:
        """The board."""
        return reverse("board", args=[asked.suite.slug])

    def items(self, asked: AskedFeed) -> list[Entry]:
        """The newest rows, with what :meth:`item_title` says of each."""
        rows = visible_entries(asked.hidden).filter(
            suite_version__suite=asked.suite, kind=Kind.RANKED, date__isnull=False
        )
        return list(
            rows.select_related("system", "suite_version", "submission", "reported_run")
            .prefetch_related("metrics")
            .order_by("-date", "-pk")[:NEWEST]
        )

    def item_title(self, item: Entry) -> str:
        """The system, and how many tasks it passes."""
        cell = tests_cell(next((metric for metric in item.metrics.all() if metric.category_id is None), None))
        return f"{item.system.name}: {cell.passed:g} of {cell.tasks} tasks" if cell else item.system.name

    def item_description(self, item: Entry) -> str:
        """What it was given, and on which version."""
        return f"Given {Inputs(item.inputs).label}; version {item.suite_version.number} of the suite."

    def item_updateddate(self, item: Entry) -> datetime:
        """When it was published."""
        assert item.date is not None  # noqa: S101 - filtered above, for the type checker
        return item.date

    item_pubdate = item_updateddate
