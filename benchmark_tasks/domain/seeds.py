"""Derive private seeds: known to this instance only, the same for everyone within an epoch. No Django here."""

from __future__ import annotations

import hashlib
import hmac
from itertools import count as numbers
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

SEED_BYTES = 16
"""Fewer bytes would let somebody who has seen a private test case find its seed by trying all of them."""


def private_seeds(epoch_key: str, task_slug: str, count: int, *, public_seeds: Collection[int] = ()) -> tuple[int, ...]:
    """Derive ``count`` different whole numbers from 0 to 2**128 - 1, none of them public.

    They depend on the epoch's key and the task's slug alone, by HMAC-SHA256; without the key they look random.
    """
    found: list[int] = []
    for number in numbers():
        if len(found) == count:
            break
        digest = hmac.digest(epoch_key.encode(), f"{task_slug}\0{number}".encode(), hashlib.sha256)
        seed = int.from_bytes(digest[:SEED_BYTES], "big")
        if seed not in public_seeds and seed not in found:
            found.append(seed)
    return tuple(found)
