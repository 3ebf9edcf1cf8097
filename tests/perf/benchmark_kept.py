"""Measure what each cached value saves on a board whose data changed: ``python -m tests.perf.benchmark_kept``.

Renders the LMR-BENCH board in this process after each change of its data, with all values cached, and in turn without
one of them. Prints the median CPU time of a request in milliseconds; it depends less than elapsed time on what else the
machine does.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from tests.perf.benchmark_board import BOARD, change, fill, instance

if TYPE_CHECKING:
    from collections.abc import Callable

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


def main() -> None:
    """Print a line for each size, with a column for each value that is not cached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="13,1000,100000", help="rows, ascending; default: %(default)s")
    parser.add_argument("--requests", type=int, default=40, help="of each kind; default: %(default)s")
    options = parser.parse_args()
    with instance(served=False):
        from django.test import Client

        client = Client(HTTP_HOST="localhost", HTTP_ACCEPT_ENCODING="gzip")
        sys.stdout.write(f"| rows | all cached | {' | '.join(f'without {name}' for name in KEPT)} |\n")
        sys.stdout.write(f"|{'---|' * (len(KEPT) + 2)}\n")
        for rows in map(int, options.sizes.split(",")):
            fill(rows)
            took: dict[str, list[float]] = {name: [] for name in ("", *KEPT)}
            for number in range(-3, options.requests):
                for name, milliseconds in took.items():
                    change()
                    with without(name):
                        started = time.process_time()
                        client.get(BOARD)
                        if number >= 0:  # the first three fill the caches
                            milliseconds.append(1000 * (time.process_time() - started))
            medians = [f"{statistics.median(each):.1f}" for each in took.values()]
            sys.stdout.write(f"| {rows:,} | {' | '.join(medians)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
