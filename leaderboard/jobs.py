"""What the queue calls of this room. A job delegates."""

from __future__ import annotations

from typing import Any


def compute_agreement(suite: str, asked: dict[str, Any]) -> None:
    """Compute the agreement of raters that a page was asked for; once it is kept, do nothing."""
    # Imported here: this module is loaded for every job's name, and the statistics load scientific libraries.
    from leaderboard.domain.agreement_queue import compute

    compute(suite, asked)
