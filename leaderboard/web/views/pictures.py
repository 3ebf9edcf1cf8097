"""Draw the OpenGraph preview pictures of pages: PNG, 1200 by 630 pixels, of public data only."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from django.db.models import Sum
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from leaderboard.board.caching import Kept, build
from leaderboard.board.filters import BOARD_FILTERS
from leaderboard.board.matrix import tasks_of
from leaderboard.board.query_strings import client_address, requested_version
from leaderboard.board.results import runs_of_system
from leaderboard.board.rows import rows_named
from leaderboard.board.visibility import closed_submissions, without_numbers
from leaderboard.models import BoardState
from leaderboard.sharing.pictures.cards import board_card, compare_card, rows_card, system_card
from leaderboard.sharing.pictures.drawing import draw
from leaderboard.sharing.snapshots.changes import gone_since
from leaderboard.sharing.snapshots.document import rows_of
from leaderboard.sharing.snapshots.published import requested_snapshot
from leaderboard.web.closed_pages import closes
from leaderboard.web.listing import Listing
from leaderboard.web.page_cache import kept_by
from leaderboard.web.views.board import data_version
from submissions.domain import rate_limits
from submissions.models import System

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

    from leaderboard.sharing.pictures.cards import Card

MOST_DRAWN: Final = 60
"""New pictures per minute and IP address: each takes a tenth of a second, and comparisons are countless."""
DRAWN: Final[Kept[bytes]] = Kept(100)
"""Pictures by content, about 40 kB each: requests that differ only elsewhere share a picture."""


def _every_board(_request: HttpRequest, **_: object) -> str | None:
    changed = BoardState.objects.aggregate(changed=Sum("changed"))["changed"]
    return f"all {changed}" if changed else None


@require_safe
@kept_by(data_version, parameters=["version", *BOARD_FILTERS])
def board_picture(request: HttpRequest, suite: str) -> HttpResponse:
    """Draw the finding of a suite's board, with the same filters as its page."""
    version = requested_version(request, suite)
    if version is None:
        raise Http404("This suite has no version yet.")
    listing = Listing(request, version)
    card = board_card(f"{version.suite.title} board", listing.finding)
    return _counted(request, lambda: card) if request.GET else _picture(request, card)


@require_safe
@closes
@kept_by(data_version, parameters=[])
def snapshot_picture(request: HttpRequest, suite: str, number: int) -> HttpResponse:
    """Draw the best rows of a frozen board that are still public."""
    shown = requested_snapshot(request, suite, number)
    removed = {each.key for each in gone_since(shown)}
    rows = [row for row in rows_of(shown.document) if row.key not in removed and not row.calibration]
    title, tasks = f"{shown.suite.title}, snapshot {shown.number}", len(shown.document["tasks"])
    day = f"Frozen {shown.created.day} {shown.created:%B %Y}: {shown.title}"
    return _picture(request, rows_card(title, rows, number=len(rows), tasks=tasks, subtitle=day))


@require_safe
@kept_by(_every_board, parameters=[])
def system_picture(request: HttpRequest, slug: str) -> HttpResponse:
    """Draw a system's published rows."""
    system = get_object_or_404(System, slug=slug)
    runs = [run for run in runs_of_system(system, closed_submissions(request)) if not run.row.calibration]
    if not runs:
        raise Http404("Nothing of this system is published.")
    named = [(run.entry.suite_version.suite.title, run.row) for run in runs]
    return _counted(request, lambda: system_card(system.name, runs[0].row.facts, named))


@require_safe
@kept_by(data_version, parameters=["version", "row"])
def compare_picture(request: HttpRequest, suite: str) -> HttpResponse:
    """Draw two to four rows of a board, as the comparison page shows them."""
    # Imported here: resampling needs numpy.
    from leaderboard.insight.comparing import FEWEST, MOST, compared

    version = requested_version(request, get_object_or_404(Suite, slug=suite))
    if version is None:
        raise Http404("This suite has no version yet.")
    found = rows_named(version, request.GET.getlist("row")[: MOST * 2])[:MOST]
    if len(found) < FEWEST:
        raise Http404("Name two to four published rows: ?row=s12&row=s15.")
    rows, tasks = without_numbers(found, closed_submissions(request)), tasks_of(version)
    return _counted(request, lambda: compare_card(version.suite.title, rows, compared(rows, tasks)))


def _counted(request: HttpRequest, card: Callable[[], Card]) -> HttpResponse:
    """Return the picture, or 429 if this IP address had too many drawn in this minute. Cached ones do not count.

    Pictures that board pages link are not limited: there is one of each, and one visitor must not block it for others.
    """
    made = rate_limits.count(f"pictures:{client_address(request)}", limit=MOST_DRAWN, period=rate_limits.MINUTE)
    if made.times > MOST_DRAWN:
        text = "Too many pictures were drawn for your address in this minute. Try again in the next."
        headers = {"Retry-After": str(made.seconds)}
        return HttpResponse(text, status=HTTPStatus.TOO_MANY_REQUESTS, headers=headers, content_type="text/plain")
    return _picture(request, card())


def _picture(request: HttpRequest, card: Card) -> HttpResponse:
    """Draw the card, or reuse its picture. The site in its corner has no port: each port would be a new picture."""
    site = urlsplit(f"//{request.get_host()}").hostname or ""
    key = hashlib.sha256(repr((build(), card, site)).encode()).hexdigest()
    content = DRAWN.get_many([key]).get(key)
    if content is None:
        content = draw(card, site=site)
        DRAWN.set_many({key: content})
    return HttpResponse(content, content_type="image/png")
