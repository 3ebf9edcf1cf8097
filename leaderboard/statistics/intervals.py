"""Compute the interval of a proportion, and pass@k."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb, sqrt
from typing import Final

Z: Final = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


def wilson(k: float, n: int) -> tuple[float, float]:
    """Compute the 95 % Wilson interval of ``k`` successes in ``n`` trials, as fractions of one.

    ``k`` may be fractional (passed tasks, averaged over trials). Raises ValueError unless ``0 <= k <= n`` and
    ``n > 0``. Source: E. B. Wilson (1927).
    """
    if n <= 0 or not 0 <= k <= n:
        msg = f"an interval needs 0 <= k <= n and n > 0, not k={k} and n={n}"
        raise ValueError(msg)
    share, scale = k / n, 1 + Z**2 / n
    middle = (share + Z**2 / (2 * n)) / scale
    reach = Z * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / scale
    # Exactly 0 and exactly 1, which rounding would miss.
    return 0.0 if k == 0 else max(0.0, middle - reach), 1.0 if k == n else min(1.0, middle + reach)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate the probability that at least one of ``k`` answers passes, if ``c`` of ``n`` trials passed.

    This is the unbiased estimate of Chen et al. 2021 (arXiv 2107.03374). Raises ValueError for less than 0 or more than
    ``n`` passes, and for a ``k`` that is not from 1 to ``n``.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} cannot be estimated from {c} passes of {n} trials")
    return 1 - comb(n - c, k) / comb(n, k)


def mean_pass_at_k(tasks: Iterable[tuple[int, int]], k: int) -> float | None:
    """Average pass@k over tasks, each given as (trials, passes); None without tasks. Raises ValueError as above."""
    estimates = [pass_at_k(n, c, k) for n, c in tasks]
    return sum(estimates) / len(estimates) if estimates else None


def p_text(p: float) -> str:
    """Format a p-value for sentences and tables: to two significant digits, tiny ones as ``< 0.001``."""
    return "< 0.001" if p < 0.001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"
