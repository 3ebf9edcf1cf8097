"""How often something was asked for in this minute, of every process together."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from django.core.cache import cache

_MINUTE: Final = 60


class Used(NamedTuple):
    """How often in this minute, with this time, and the seconds until it ends. Beyond the limit one more at most."""

    times: int
    seconds: int


def in_this_minute(name: str, *, limit: int) -> Used:
    """Count one of what ``name`` names, unless ``limit`` of them are counted already.

    Two at the same moment may count as one: the limit is against loops, and a few more do no harm.
    """
    minute, past = divmod(int(time.time()), _MINUTE)
    key = f"{name}:{minute}"
    times = int(cache.get(key, 0)) + 1
    if times <= limit:
        cache.set(key, times, _MINUTE)
    return Used(times, _MINUTE - past)
