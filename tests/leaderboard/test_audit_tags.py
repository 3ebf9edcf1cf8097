"""How an audit's numbers are written."""

from __future__ import annotations

import pytest

from leaderboard.templatetags.audit_tags import failing, moment, share, tiny


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 %"), (0.004, "less than 1 %"), (0.01, "1 %"), (0.999, "99 %"), (1.0, "100 %"), (3, "300 %")],
)
def test_shares_are_rounded_down(value: float, text: str) -> None:
    assert share(value) == text


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0.5**10, "1 in 1,024"), (0.3, "1 in 3"), (1.0, "1 in 1"), (1e-9, "below one in a billion")],
)
def test_small_probabilities_are_odds(probability: float, text: str) -> None:
    assert tiny(probability) == text


def test_only_trivial_answers_that_fail_are_listed_together() -> None:
    tried = [{"answer": "none", "outcome": "raised"}, {"answer": "zero", "outcome": "passed"}]
    assert failing(tried) == ["none"]


def test_stored_times_are_read() -> None:
    read = moment("2026-11-01T10:00:00+00:00")
    assert read is not None
    assert (read.hour, read.tzinfo is not None) == (10, True)
    assert moment("yesterday") is None
