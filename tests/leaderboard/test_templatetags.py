"""How pages write numbers, times, bars and code."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
import time_machine

from leaderboard.domain.board import LabelsCell, TestsCell
from leaderboard.settings.environment import PROJECT_ROOT
from leaderboard.templatetags import board_tags
from submissions.highlighting import DarkStyle, LightStyle, highlighted, stylesheet


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0.0, "0.0"), (39.2857, "39.3"), (100.0, "100.0"), (0.04, "0.0")]
)
def test_percent(value: float | None, shown: str) -> None:
    assert board_tags.percent(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(None, "–"), (11.0, "11"), (10.5, "10.5"), (10.999999999999, "11")])
def test_count(value: float | None, shown: str) -> None:
    assert board_tags.count(value) == shown


def test_ago_is_relative_with_the_exact_time_in_its_title() -> None:
    with time_machine.travel(datetime(2026, 3, 2, 15, 0, tzinfo=UTC), tick=False):
        assert board_tags.ago(datetime(2026, 3, 2, 12, 0, 5, tzinfo=UTC)) == (
            '<time datetime="2026-03-02T12:00:05+00:00" title="2026-03-02 12:00:05 UTC">2\xa0hours ago</time>'
        )
    assert board_tags.ago(None) == "–"


def test_backticks_become_code_and_nothing_else_is_markup() -> None:
    assert board_tags.backticks("use `a < b` & *not* <b>") == ("use <code>a &lt; b</code> &amp; *not* &lt;b&gt;")


def test_interval_bar() -> None:
    bar = board_tags.interval_bar(TestsCell(percent=39.3, low=23.6, high=57.6, passed=11, tasks=28))
    assert '<line class="interval-range" x1="23.6" y1="5" x2="57.6" y2="5"/>' in bar
    assert 'cx="39.3"' in bar
    assert "style=" not in bar


def test_interval_bar_without_interval_is_a_point() -> None:
    bar = board_tags.interval_bar(TestsCell(percent=50, low=None, high=None, passed=1, tasks=2))
    assert 'x1="50.0" y1="5" x2="50.0"' in bar


def test_label_bar_stacks_the_shares() -> None:
    bar = board_tags.label_bar(LabelsCell(cc=17.9, lc=10.7, li=71.4, labelled=28, abstained=0, tasks=28))
    assert '<rect class="label-lc" x="17.9" width="10.7"' in bar
    assert '<rect class="label-li" x="28.6" width="71.4"' in bar


def test_share_bar() -> None:
    assert '<rect class="share-fill" width="33.3"' in board_tags.share_bar(100 / 3)


class TestCode:
    def test_escapes_and_colours(self) -> None:
        html = board_tags.code("x = '<script>'", "python")
        assert "<script>" not in html
        assert "&lt;script&gt;" in html

    def test_numbers_lines_from_the_given_one(self) -> None:
        assert '<span class="linenos">41</span>' in board_tags.code_from_line("a\nb\n", "python", 40)

    def test_unknown_languages_and_huge_sources_are_plain(self) -> None:
        assert "def" in highlighted("def", "no-such-language")
        assert 'class="k"' not in highlighted("def f(): ...\n" + "#" * 200_001, "python")

    def test_leading_blank_lines_count(self) -> None:
        assert highlighted("\n\nx\n", "python", first_line=1).count("linenos") == 3

    def test_the_stored_style_sheet_is_the_made_one(self) -> None:
        assert (PROJECT_ROOT / "static/css/code.css").read_text() == stylesheet()
        printed = subprocess.run(
            [sys.executable, "-m", "submissions.highlighting"], capture_output=True, text=True, check=True
        )
        assert printed.stdout == stylesheet()

    @pytest.mark.parametrize("style", [LightStyle, DarkStyle])
    def test_every_colour_can_be_read_on_its_background(self, style: type[LightStyle] | type[DarkStyle]) -> None:
        background = luminance(style.background_color.lstrip("#"))
        for _, look in style:
            lighter, darker = sorted((luminance(str(look["color"])), background), reverse=True)
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """Relative luminance of ``rrggbb`` (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
