"""The version of a board's data: it goes up with each change, so that caches and rank bands know what is old."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from django.db import connection, transaction
from django.db.models import F

from evaluator.queue.pushing import UPLOADS, push_once
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
    """The state of a suite version's board; a new one where none is stored yet."""
    return getattr(version, "board_state", None) or BoardState(suite_version=version)


def board_changed(version: int, *, results: bool = False) -> None:
    """Note that the board of a suite version shows something else, once this transaction is committed.

    Not inside it: a row that everybody updates last, and some more than once, is where transactions lock each other.
    Where ``results`` changed as well, ranks are computed again in the background.
    """
    transaction.on_commit(partial(note_change, version, results=results))


def note_change(version: int, *, results: bool = False) -> None:
    """Raise the version of a board's data now."""
    more = {"changed": F("changed") + 1, **({"results": F("results") + 1} if results else {})}
    if not BoardState.objects.filter(suite_version=version).update(**more):
        BoardState.objects.get_or_create(suite_version_id=version)
    if results:
        push_once(UPLOADS, "leaderboard.upkeep.jobs.rank_board", version, job_id=f"rank-{version}")


def every_board_changed() -> None:
    """Raise the version of every board's data now: what any of them may name has changed."""
    BoardState.objects.update(changed=F("changed") + 1, surroundings=F("surroundings") + 1)


def changes_of(suite: str) -> int | None:
    """How often the boards of a suite changed, by its slug; None where it has none. One query.

    Every request for a kept page asks this and nothing else. Putting the query together would take longer than it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CHANGES, [suite])
        changed: int | None = cursor.fetchone()[0]
    return changed and int(changed)
