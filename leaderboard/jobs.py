"""What the queue calls of this room. A job delegates."""

from __future__ import annotations


def recount_rows() -> None:
    """Count the rows of boards that show another judge since they were counted, each in a transaction of its own."""
    from leaderboard.board.entries import recount_batch

    while recount_batch():
        pass
