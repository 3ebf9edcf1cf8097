"""Private seeds follow from the epoch's key and the task alone."""

from __future__ import annotations

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain.seeds import private_seeds

KEY = "5e" * 32


def test_first_seed_is_the_keyed_hash() -> None:
    digest = hmac.new(KEY.encode(), b"dpo/1\x000", hashlib.sha256).digest()
    assert private_seeds(KEY, "dpo/1", 1) == (int.from_bytes(digest[:16], "big"),)


def test_key_and_task_matter_and_more_seeds_extend_fewer() -> None:
    seeds = private_seeds(KEY, "dpo/1", 5)
    assert private_seeds(KEY, "dpo/1", 3) == seeds[:3]
    assert not set(seeds) & set(private_seeds(KEY, "dpo/2", 5))
    assert not set(seeds) & set(private_seeds("00" * 32, "dpo/1", 5))


def test_public_seeds_are_passed_over() -> None:
    first, second, third = private_seeds(KEY, "dpo/1", 3)
    assert private_seeds(KEY, "dpo/1", 2, public_seeds=[second]) == (first, third)


@given(st.text(), st.text(), st.integers(0, 20))
def test_seeds_are_distinct_128_bit_numbers(key: str, task: str, count: int) -> None:
    try:
        (key + task).encode()
    except UnicodeEncodeError:
        return
    seeds = private_seeds(key, task, count)
    assert len(set(seeds)) == count
    assert all(0 <= seed < 2**128 for seed in seeds)
