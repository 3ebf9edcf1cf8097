"""How sure a proportion is."""

from __future__ import annotations

CONFIDENCE = 0.95


def wilson(k: float, n: int) -> tuple[float, float]:
    """The 95 % Wilson interval of ``k`` successes in ``n`` trials, as fractions of one.

    ``k`` may be fractional (a mean over trials of passed tasks). Raises ValueError unless ``0 <= k <= n`` and
    ``n > 0``. Source: E. B. Wilson (1927), as statsmodels computes it.
    """
    if n <= 0 or not 0 <= k <= n:
        msg = f"an interval needs 0 <= k <= n and n > 0, not k={k} and n={n}"
        raise ValueError(msg)
    # statsmodels takes seconds to import and is needed only when entries are computed, never to show a page.
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(k, n, alpha=1 - CONFIDENCE, method="wilson")
    return max(0.0, float(low)), min(1.0, float(high))
