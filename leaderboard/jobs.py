"""What the queue calls of this room. A job fetches, claims and delegates."""

from __future__ import annotations


def rank_board(version_id: int) -> None:
    """Compute the rank bands of a suite version's board, if results changed since they were computed."""
    # numpy is for this job only.
    from leaderboard.comparing.ranks import rank_version

    rank_version(version_id)
