"""Measure what each cached value saves on a board whose data changed.

Renders the LMR-BENCH board in this process after each change of its data, with all values cached, and in turn without
one of them. Takes the CPU time of a request, which depends less than elapsed time on what else the machine does.
"""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from tests.perf.boards import BOARD, change, fill, instance
from tests.perf.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES, REQUESTS = (1_000, 100_000), 8
KEPT: Final = ("context", "published", "count", "controls", "sql", "ROWS", "WRITTEN")
"""Names of values of ``caching.keep``, and of caches of ``caching.Kept``."""


def without(name: str) -> ExitStack:
    """Return the context in which the value ``name`` is not cached; an empty name caches all."""
    from leaderboard.board import caching, facets
    from leaderboard.web import listing
    from leaderboard.web.views import board

    kept = caching.keep

    def keep(read: Callable[[], Any], *made_from: object) -> Any:
        return read() if made_from[0] == name else kept(read, *made_from)

    stack = ExitStack()
    for module in (caching, facets, listing, board):
        stack.enter_context(patch.object(module, "keep", keep))
    for module, cache in ((caching, "ROWS"), (board, "WRITTEN")):
        if cache == name:
            stack.enter_context(patch.object(module, cache, caching.Kept(0)))
    return stack


def measure(*, rounds: int, **_: object) -> list[Row]:
    """Return a row for each size and cached value: medians of :data:`REQUESTS` requests a round."""
    rows = []
    with instance(served=False):
        from django.test import Client

        client = Client(HTTP_HOST="localhost", HTTP_ACCEPT_ENCODING="gzip")
        for size in SIZES:
            fill(size)
            took: dict[str, list[float]] = {name: [] for name in ("", *KEPT)}
            for number in range(-3, REQUESTS * rounds):
                for name, seconds in took.items():
                    change()
                    with without(name):
                        started = time.process_time()
                        client.get(BOARD)
                        if number >= 0:  # the first three fill the caches
                            seconds.append(time.process_time() - started)
            medians = {name: statistics.median(each) for name, each in took.items()}
            rows += [
                Row(
                    f"board of {size:,} rows, changed, CPU time without {name}",
                    medians[name],
                    "all cached",
                    medians[""],
                )
                for name in KEPT
            ]
    return rows
