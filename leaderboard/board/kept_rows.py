"""A page's rows, read again only where they changed: pages differ by a row or two from one change to the next."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from leaderboard.board.board import board_rows, shown_metrics, unpublished_of
from leaderboard.models import EntryMetric
from leaderboard.page_cache import ROWS, build

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from benchmark_tasks.models import Category
    from leaderboard.board.board import BoardRow
    from leaderboard.models import BoardState

MOST: Final = 500
# All that a row shows is of one of these, or of what ``BoardState.surroundings`` counts: results that are counted anew
# get a new metric, labels a new time.
_STAMPED = ("pk", "entry__computed", "entry__date", "rank_from", "rank_to")


def kept_rows(listed: QuerySet[EntryMetric], state: BoardState, category: Category | None) -> list[BoardRow]:
    """What ``board_rows`` makes of ``listed``, with a ``stamp``: rows of the same stamp are the same. Two queries.

    Four more where a row is not kept; more than :data:`MOST` rows are read without keeping them. ``state`` is the one
    that was read before.
    """
    found = list(shown_metrics(listed).values_list("entry__system", *_STAMPED))
    if len(found) > MOST:
        return board_rows(listed, state.suite_version, category)
    unpublished = unpublished_of({system for system, *_ in found})
    same = (build(), state.surroundings)
    stamps = {
        pk: _digest(*same, unpublished.get((system, state.suite_version.suite_id), 0), pk, *changing)
        for system, pk, *changing in found
    }
    kept = ROWS.get_many(stamps.values())
    missing = [pk for pk, stamp in stamps.items() if stamp not in kept]
    if missing:
        read = EntryMetric.objects.filter(pk__in=missing)
        new = {
            stamps[row.metric]: replace(row, stamp=stamps[row.metric])
            for row in board_rows(read, state.suite_version, category)
        }
        ROWS.set_many(new)
        kept |= new
    return [kept[stamp] for stamp in stamps.values() if stamp in kept]


def _digest(*made_from: object) -> str:
    return hashlib.sha256(repr(made_from).encode()).hexdigest()
