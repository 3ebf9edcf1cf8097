"""Counting tokens before a provider does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from evaluator.generation import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def _no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A platform for which the tokenizer is not built."""
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)
    tokens._counter.cache_clear()
    yield
    tokens._counter.cache_clear()


def test_known_texts_have_known_counts() -> None:
    pytest.importorskip("rs_bpe", reason="rs-bpe is not built for this platform")
    counts = [tokens.count(text) for text in ("", "hello world", "def double(x):\n    return 2 * x\n")]
    assert counts == [0, 2, 11]
    assert tokens.counted_with() == "o200k_base; other models' tokenizers differ"


def test_special_tokens_are_text_and_half_characters_do_no_harm() -> None:
    pytest.importorskip("rs_bpe", reason="rs-bpe is not built for this platform")
    assert tokens.count("<|endoftext|>") == 7
    assert tokens.count("a\ud800b") == tokens.count("a?b")


@pytest.mark.usefixtures("_no_tokenizer")
def test_without_a_tokenizer_three_bytes_are_a_token() -> None:
    assert [tokens.count(text) for text in ("", "abc", "abcd", "é" * 3, "\ud800")] == [0, 1, 2, 2, 1]
    assert tokens.counted_with() == "one token for three bytes; tokenizers differ"
