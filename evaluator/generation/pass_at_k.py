"""pass@k: the chance that at least one of k answers passes, from n of them (Chen et al. 2021, arXiv 2107.03374)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimate ``1 - C(n - c, k) / C(n, k)`` from ``n`` trials of which ``c`` passed.

    It is computed as a product, in which nothing overflows. Raises ValueError for less than 0 or more than ``n``
    passes, and for a ``k`` that is not from 1 to ``n``.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} cannot be estimated from {c} passes of {n} trials")
    if n - c < k:
        return 1.0
    all_fail = 1.0
    for number in range(n - c + 1, n + 1):
        all_fail *= 1.0 - k / number
    return 1.0 - all_fail


def mean_pass_at_k(tasks: Iterable[tuple[int, int]], k: int) -> float | None:
    """The mean over tasks, each given as (trials, passes); None without tasks. Raises ValueError as above."""
    estimates = [pass_at_k(n, c, k) for n, c in tasks]
    return sum(estimates) / len(estimates) if estimates else None
