"""Do something on several database connections at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, Any

from django.db import connections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def at_once(do: Callable[[Any], Any], each: Iterable[Any]) -> list[Any]:
    """Call ``do`` for each at the same time and return the results."""
    given = list(each)
    start = Barrier(len(given))

    def begin(one: Any) -> Any:
        try:
            start.wait(timeout=30)
            return do(one)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(given)) as pool:
        return list(pool.map(begin, given))
