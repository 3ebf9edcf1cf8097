"""What the queue calls. A job fetches, claims and delegates."""

from __future__ import annotations

from evaluator.domain.evaluate import evaluate_next as _evaluate_next


def evaluate_next() -> None:
    """Evaluate whichever run is next; when nothing waits, do nothing."""
    _evaluate_next()
