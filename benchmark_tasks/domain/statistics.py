"""How sure a proportion is."""

from __future__ import annotations

from math import sqrt
from typing import Final

Z: Final = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


def wilson(k: float, n: int) -> tuple[float, float]:
    """The 95 % Wilson interval of ``k`` successes in ``n`` trials, as fractions of one.

    ``k`` may be fractional (a mean over trials of passed tasks). Raises ValueError unless ``0 <= k <= n`` and
    ``n > 0``. Source: E. B. Wilson (1927).
    """
    if n <= 0 or not 0 <= k <= n:
        msg = f"an interval needs 0 <= k <= n and n > 0, not k={k} and n={n}"
        raise ValueError(msg)
    share, scale = k / n, 1 + Z**2 / n
    middle = (share + Z**2 / (2 * n)) / scale
    reach = Z * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / scale
    # Exactly nothing and exactly all, where rounding would miss them.
    return 0.0 if k == 0 else max(0.0, middle - reach), 1.0 if k == n else min(1.0, middle + reach)
