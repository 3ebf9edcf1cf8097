"""Count the changes of a board's data, so that stale cache entries and rank bands are detected."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from django.db import connection, transaction
from django.db.models import F

from evaluator.queue.pushing import SITE, push_once
from leaderboard.models import BoardState

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion

_CHANGES: Final = """
    SELECT SUM(state.changed) FROM leaderboard_boardstate state
    JOIN benchmark_tasks_suiteversion version ON version.id = state.suite_version_id
    JOIN benchmark_tasks_suite suite ON suite.id = version.suite_id
    WHERE suite.slug = %s
"""


def state_of(version: SuiteVersion) -> BoardState:
    """Return the state of a suite version's board; a new one if none is stored yet."""
    return getattr(version, "board_state", None) or BoardState(suite_version=version)


def board_changed(version: int, *, results: bool = False) -> None:
    """Count a change of a suite version's board after this transaction's commit.

    Not inside it: transactions that all update one row would block each other, and could deadlock. If ``results``
    changed as well, ranks are recomputed in the background.
    """
    transaction.on_commit(partial(note_change, version, results=results))


def note_change(version: int, *, results: bool = False) -> None:
    """Count a change of a board's data now, and queue the computation of ranks if ``results`` changed."""
    more = {"changed": F("changed") + 1, **({"results": F("results") + 1} if results else {})}
    if not BoardState.objects.filter(suite_version=version).update(**more):
        BoardState.objects.get_or_create(suite_version_id=version)
    if results:
        push_once(SITE, "leaderboard.upkeep.jobs.rank_board", version, job_id=f"rank-{version}")


def every_board_changed() -> None:
    """Count a change of every board's data now, since data that all may show have changed, such as names."""
    BoardState.objects.update(changed=F("changed") + 1, surroundings=F("surroundings") + 1)


def changes_of(suite: str) -> int | None:
    """Return the number of changes of the boards of a suite, by its slug; None if it has none. One query.

    It is the only query of a request for a cached page, and is plain SQL because building it would take longer.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CHANGES, [suite])
        changed: int | None = cursor.fetchone()[0]
    return changed and int(changed)
