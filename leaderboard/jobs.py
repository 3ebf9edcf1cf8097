"""What the queue calls of this room. A job delegates."""

from __future__ import annotations

from typing import Any


def recount_rows() -> None:
    """Count the rows of boards that show another judge since they were counted, each in a transaction of its own."""
    from leaderboard.domain.recounting import recount_batch

    while recount_batch():
        pass


def compute_agreement(suite: str, asked: dict[str, Any]) -> None:
    """Compute the agreement of raters that a page was asked for; once it is kept, do nothing."""
    # Imported here: this module is loaded for every job's name, and the statistics load scientific libraries.
    from leaderboard.domain.agreement_queue import compute

    compute(suite, asked)
