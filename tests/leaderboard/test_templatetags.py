"""How the board writes numbers and bars."""

from __future__ import annotations

import pytest

from leaderboard.board.board import LabelsCell, TestsCell
from leaderboard.templatetags import board_tags
from leaderboard.templatetags.audit_tags import share, tiny


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0.0, "0.0"), (39.2857, "39.3"), (100.0, "100.0"), (0.04, "0.0")]
)
def test_percent(value: float | None, shown: str) -> None:
    assert board_tags.percent(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(None, "–"), (11.0, "11"), (10.5, "10.5"), (10.999999999999, "11")])
def test_count(value: float | None, shown: str) -> None:
    assert board_tags.count(value) == shown


def test_interval_bar() -> None:
    bar = board_tags.interval_bar(TestsCell(percent=39.3, low=23.6, high=57.6, passed=11, tasks=28))
    assert '<line class="interval-range" x1="23.6" y1="5" x2="57.6" y2="5"/>' in bar
    assert 'cx="39.3"' in bar
    assert "style=" not in bar


def test_label_bar_stacks_the_shares() -> None:
    bar = board_tags.label_bar(LabelsCell(cc=17.9, lc=10.7, li=71.4, labelled=28, abstained=0, tasks=28))
    assert '<rect class="label-lc" x="17.9" width="10.7"' in bar
    assert '<rect class="label-li" x="28.6" width="71.4"' in bar


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
