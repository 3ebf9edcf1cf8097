"""Count a text's tokens before any provider has: for estimates, and to fit a context."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES_PER_TOKEN: Final = 3


def count(text: str) -> int:
    """Count the tokens of ``text`` under :func:`counted_with`. Text that looks like a special token is plain text."""
    counter = _counter()
    # Lone surrogates cannot be sent to any provider either.
    clean = text.encode("utf-8", "replace").decode("utf-8")
    if counter is None:
        return estimate(clean)
    return counter(clean)


def estimate(text: str) -> int:
    """Return one token per three bytes of UTF-8, rounded up: an upper estimate for prose and code."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def total(first: int | None, second: int | None) -> int | None:
    """Add two numbers of tokens; the sum is unknown if either is."""
    return None if first is None or second is None else first + second


def counted_with() -> str:
    """Describe what :func:`count` counts with, for pages."""
    if _counter() is None:
        return "an estimate of one token for three bytes"
    return "o200k_base"


@cache
def _counter() -> Callable[[str], int] | None:
    # Imported on first use: it holds 25 MB of merges, and web pages count no tokens. Some platforms have no build.
    try:
        # The package has no type information for its compiled part.
        from rs_bpe.bpe import openai  # type: ignore[import-not-found]
    except ImportError:
        return None
    counter: Callable[[str], int] = openai.o200k_base().count
    return counter
