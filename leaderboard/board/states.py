"""The version of a board's data: it goes up with each change, so that caches and rank bands know what is old."""

from __future__ import annotations

from functools import partial

from django.db import transaction
from django.db.models import F

from evaluator.queue.queueing import UPLOADS, push_once
from leaderboard.models import BoardState


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
        push_once(UPLOADS, "leaderboard.jobs.rank_board", version, job_id=f"rank-{version}")


def every_board_changed() -> None:
    """Raise the version of every board's data now: what any of them may name has changed."""
    BoardState.objects.update(changed=F("changed") + 1, surroundings=F("surroundings") + 1)
