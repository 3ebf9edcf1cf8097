"""How many tokens a text has, before any provider has counted it: for estimates and for what fits a context."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES_PER_TOKEN: Final = 3


def count(text: str) -> int:
    """The number of tokens of ``text`` under :func:`counted_with`. Text that looks like a special token is text."""
    counter = _counter()
    # Lone surrogates cannot be sent to any provider either.
    clean = text.encode("utf-8", "replace").decode("utf-8")
    if counter is None:
        return estimate(clean)
    return counter(clean)


def estimate(text: str) -> int:
    """One token for every three bytes of UTF-8, rounded up: on the safe side for prose and code."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def total(first: int | None, second: int | None) -> int | None:
    """The sum of two numbers of tokens; unknown where one of them is."""
    return None if first is None or second is None else first + second


def counted_with() -> str:
    """What :func:`count` counts with, for pages."""
    if _counter() is None:
        return "one token for three bytes; tokenizers differ"
    return "o200k_base; other models' tokenizers differ"


@cache
def _counter() -> Callable[[str], int] | None:
    # Loaded on first use: it holds 25 MB of merges, and no web page counts tokens. It is not built for every platform.
    try:
        # The package tells type checkers nothing about its compiled part.
        from rs_bpe.bpe import openai  # type: ignore[import-not-found]
    except ImportError:
        return None
    counter: Callable[[str], int] = openai.o200k_base().count
    return counter
