"""Cleaning what candidates print."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.testing.logs import CUT_MARK, MAX_LOG_BYTES, clean_log, clean_text


def test_controls_and_terminal_sequences_go_and_nothing_is_hidden() -> None:
    raw = b"\x1b[31mred\x1b[0m\tkept\r\nnext\x00\x07\x1b]0;title\x07\rline \xe2\x80\xaeevil \xc2\x9b1m caf\xc3\xa9 \xff"
    assert clean_log(raw) == "red\tkept\nnext\nline \u2039U+202E\u203aevil 1m café \ufffd"


@pytest.mark.parametrize(
    "mark", ["\u200b", "\u200d", "\u2060", "\u2066", "\xad", "\u180e", "\ufff9", "\u2028", "\U000e0041", "\ud800"]
)
def test_marks_that_hide_or_reorder_text_are_written_out(mark: str) -> None:
    assert clean_text(f"Pas{mark}sed") == f"Pas\u2039U+{ord(mark):04X}\u203ased"


def test_a_terminal_sequence_without_end_hides_no_more_than_its_line() -> None:
    assert clean_text("\x1b]0;title\nTest Failed\n") == "\nTest Failed\n"


def test_long_logs_are_cut_with_a_mark() -> None:
    log = clean_log(b"x" * (MAX_LOG_BYTES + 1))
    assert len(log.encode()) == MAX_LOG_BYTES
    assert log.endswith("x" + CUT_MARK)
    assert clean_log(b"x" * MAX_LOG_BYTES) == "x" * MAX_LOG_BYTES
    assert clean_log(b"short", truncated=True) == f"short{CUT_MARK}"


def test_cut_does_not_split_a_character() -> None:
    assert clean_log("é".encode() * 100, limit=len(CUT_MARK) + 5) == f"éé{CUT_MARK}"


@given(st.binary(max_size=400))
def test_any_bytes_become_bounded_clean_text(raw: bytes) -> None:
    log = clean_log(raw, limit=100)
    assert len(log.encode()) <= 100
    assert clean_text(log) == log
    assert {character for character in log if unicodedata.category(character) in {"Cc", "Cf"}} <= {"\n", "\t"}
