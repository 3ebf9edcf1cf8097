"""Drawings of charts: the site's colours, names that are never cut or interpreted, positions, and axes."""

from __future__ import annotations

import re
from datetime import date, timedelta
from html import unescape
from typing import Any

import pytest

from leaderboard.insight.analysis import axes, charts, drawing
from leaderboard.insight.analysis.charts import Bars, Cell, Dots, Grid, Part, Plane, Point, Series
from tests.conftest import PROJECT_ROOT

EVIL = '<a href="https://example.org">x</a> & "y" "var(--none)"\x00'
SCALE = axes.percent("% of tasks")


def every(name: str = EVIL) -> list[charts.Chart]:
    """One chart of each kind."""
    series = Series(name, [Point(0, 40.0, name, 20.0, 60.0)], charts.GOOD)
    part = Part(name, [40.0], [name], charts.BAD)
    return [
        Dots(
            [name], [series._replace(symbol=each) for each in ("circle", "ring", "square", "diamond", "cross")], SCALE
        ),
        Bars([name], [part, part], SCALE),
        Bars([name], [part, part], SCALE, joined=False),
        Grid([name], [name, name], [[Cell(0.5, name, name), None]]),
        Plane([series], axes.numbers(name, 0, 3), SCALE, [(0, 1), (2, 3)], name),
    ]


def drawn(chart: charts.Chart, width: int = drawing.COLUMN) -> str:
    return drawing.drawing(chart, label=EVIL, width=width).svg


def numbers(svg: str, element: str, *names: str) -> list[tuple[float, ...]]:
    """The values of attributes of every ``element`` inside a mark."""
    inside = re.findall(r'<g class="mark">.*?</g>', svg)
    found = re.findall(rf"<{element} [^>]*>", "".join(inside))
    return [tuple(float(re.search(rf' {name}="([^"]*)"', each)[1]) for name in names) for each in found]  # type: ignore[index]


@pytest.mark.parametrize("chart", every())
def test_names_are_escaped(chart: charts.Chart) -> None:
    svg = drawn(chart)
    assert "<a" not in svg
    assert "\x00" not in svg
    assert "&lt;a href=&quot;https://example.org&quot;&gt;" in svg


@pytest.mark.parametrize("chart", every())
@pytest.mark.parametrize("width", [drawing.PHONE, drawing.COLUMN, drawing.WIDE])
def test_names_are_never_cut(chart: charts.Chart, width: int) -> None:
    name = "OpenHands with a very long name (Claude 3.7 Sonnet, extended thinking) of_one_word_of_forty_characters_and"
    for each in every(name):
        texts = re.findall(r"<text [^>]*>([^<]*)</text>", drawn(each, width))
        assert name.replace(" ", "") in unescape("".join(texts)).replace(" ", "")


def test_colours_are_the_site_s_tokens_and_light_ones_in_files() -> None:
    css = (PROJECT_ROOT / "static" / "css" / "site.css").read_text(encoding="utf-8")
    tokens = dict(re.findall(r"^  --([\w-]+): (?:light-dark\()?(#\w+)", css, re.MULTILINE))
    assert {name: tokens[name] for name in drawing.LIGHT} == drawing.LIGHT
    for chart in every():
        svg = drawn(chart)
        assert set(re.findall(r"#\w{3,6}\b", svg)) == set()
        assert set(re.findall(r'="var\(--([\w-]+)\)"', svg)) <= drawing.LIGHT.keys()
        file = drawing.standalone(chart, title=EVIL, subtitle="how", source="where")
        assert '="var(' not in file
        assert "<a" not in file
        assert file.count("<text") == file.count('font-family="Helvetica"')


def test_dots_have_intervals_at_their_values() -> None:
    points = [Point(0, 50.0, "a", 25.0, 75.0), Point(1, 0.0, "b")]
    svg = drawn(Dots(["A", "B"], [Series("s", points, charts.GOOD)], SCALE))
    (first, second) = numbers(svg, "circle", "cx", "cy")
    (interval, *_) = numbers(svg, "line", "x1", "x2")
    assert interval[0] + interval[1] == pytest.approx(2 * first[0], abs=0.2)
    # 25 and 75 of 100, and 0 at the left edge.
    assert interval[0] == pytest.approx((first[0] + second[0]) / 2, abs=0.2)
    assert second[1] - first[1] == 22


def test_points_of_one_row_are_below_each_other() -> None:
    one, other = (Series(name, [Point(0, 50.0, name)], charts.GOOD) for name in "ab")
    (first, second) = numbers(drawn(Dots(["A"], [one, other], SCALE)), "circle", "cx", "cy")
    assert (first[0], second[1] - first[1]) == (second[0], 10)


def test_parts_of_a_bar_are_joined_or_side_by_side() -> None:
    parts = [Part("a", [30.0, 0.0], ["a", ""], charts.GOOD), Part("b", [70.0, 50.0], ["b", "c"], charts.BAD)]
    joined = numbers(drawn(Bars(["A", "B"], parts, SCALE)), "rect", "x", "y", "width")
    apart = numbers(drawn(Bars(["A", "B"], parts, SCALE, joined=False)), "rect", "x", "y", "width")
    # A part without a value is not drawn.
    assert len(joined) == len(apart) == 3
    assert joined[1][0] == pytest.approx(joined[0][0] + joined[0][2], abs=0.2)
    assert (joined[1][1], apart[0][0], apart[1][1]) == (joined[0][1], apart[1][0], apart[0][1] + 11)


def test_cells_have_the_strength_of_their_share_and_absent_ones_are_empty() -> None:
    svg = drawn(Grid(["A", "B"], ["c", "d"], [[Cell(1.0, "2/2", "x"), None], [None, Cell(0.5, "1/2", "y")]]))
    assert re.findall(r'fill-opacity="([\d.]+)"', svg) == ["1.00", "0.50"]
    assert re.findall(r"<title>(.*?)</title>", svg) == ["x", "y"]


def test_a_plane_has_a_line_of_steps() -> None:
    chart = Plane([], axes.numbers("x", 0, 10), SCALE, [(0, 0), (10, 100)], "best")
    (path,) = re.findall(r'<path d="([^"]*)"', drawn(chart))
    assert re.fullmatch(r"M[\d.]+ [\d.]+H[\d.]+V[\d.]+", path)
    assert ">best</text>" in drawn(chart)


@pytest.mark.parametrize(
    ("low", "high", "whole", "ticks"),
    [
        (0, 1, True, ["0", "1"]),
        (0, 7, True, ["0", "2", "4", "6", "8"]),
        (0, 70, True, ["0", "20", "40", "60", "80"]),
        (0, 1, False, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-1.4, 1.3, False, ["\N{MINUS SIGN}2", "\N{MINUS SIGN}1", "0", "1", "2"]),
        (0, 0, True, ["0", "1"]),
    ],
)
def test_numbers_have_few_ticks_and_counts_have_whole_ones(
    low: float, high: float, whole: bool, ticks: list[str]
) -> None:
    axis = axes.numbers("t", low, high, whole=whole)
    assert [label for _, label in axis.ticks] == [tick if tick != "0.0" else "0" for tick in ticks]
    assert axis.low <= low
    assert axis.high >= high


@pytest.mark.parametrize(
    ("costs", "log", "ticks"),
    [
        ([0.2, 0.6, 1.0], True, ["0.2", "0.5", "1", "2"]),
        ([0.003, 12.0], True, ["0.01", "0.1", "1", "10"]),
        ([5.0], True, ["5", "10"]),
        ([0.0, 4.0], False, ["0", "1", "2", "3", "4"]),
    ],
)
def test_costs_are_spaced_by_ratio_unless_one_is_zero(costs: list[float], log: bool, ticks: list[str]) -> None:
    axis = axes.dollars("t", costs)
    assert (axis.log, [label for _, label in axis.ticks]) == (log, ticks)
    assert all(0 <= axis.share(cost) <= 1 for cost in costs)


@pytest.mark.parametrize(
    ("days", "ticks"),
    [
        (0, ["28 Feb"]),
        (1, ["28 Feb", "1 Mar"]),
        (6, ["28 Feb", "2 Mar", "4 Mar", "6 Mar"]),
        (60, ["28 Feb", "14 Mar", "28 Mar", "11 Apr", "25 Apr"]),
        (200, ["2026-03", "2026-05", "2026-07", "2026-09"]),
    ],
)
def test_days_have_no_ticks_but_whole_days_or_months(days: int, ticks: list[str]) -> None:
    first = date(2026, 2, 28)
    axis = axes.days("t", [first + timedelta(days), first])
    assert [label for _, label in axis.ticks] == ticks
    assert axis.low < first.toordinal()
    assert axis.high > (first + timedelta(days)).toordinal()


@pytest.mark.parametrize(
    ("months", "ticks"),
    [
        (["2024-06", "2024-06"], ["2024-06"]),
        (["2024-11", "2023-10"], ["2023-10", "2024-01", "2024-04", "2024-07", "2024-10"]),
    ],
)
def test_months(months: list[str], ticks: list[str]) -> None:
    assert [label for _, label in axes.months("t", months).ticks] == ticks


def test_the_height_is_that_of_the_drawing() -> None:
    for chart in every():
        svg, height = drawing.drawing(chart, label="")
        assert f'viewBox="0 0 420 {height:g}"' in svg


def test_kinds_are_complete() -> None:
    """A new kind of chart needs a case here and in the drawing."""
    kinds: tuple[Any, ...] = charts.Chart.__args__
    assert {type(chart) for chart in every()} == set(kinds)
