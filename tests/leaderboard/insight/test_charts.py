"""Charts as they are sent to the page: traces of the basic bundle, the site's colours, and no tags from names."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leaderboard.insight.analysis import charts
from leaderboard.insight.analysis.charts import Part, Series
from tests.conftest import PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

EVIL = '<a href="https://example.org">x</a> & <b>y</b>'


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def sent(chart: charts.Chart) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(chart))
    return found


def every() -> list[dict[str, Any]]:
    """One chart of each kind, with a name that is a link."""
    series = Series("a", [0], [40.0], [EVIL], charts.GOOD, "circle", [20.0], [None])
    part = Part("a", [1.0], [EVIL], charts.BAD)
    return [
        sent(charts.dots([EVIL], [series], title="t")),
        sent(charts.stacked([EVIL], [part], title="t")),
        sent(charts.bars([EVIL], [part, part], title="t")),
        sent(charts.cells([EVIL], [EVIL], [[0.5]], [["1/2"]])),
        sent(charts.steps([series], [(0, 40.0)], line_name="l", title="t", score="s")),
        sent(charts.lines(["x", "y"], [series._replace(name=EVIL)], title="t")),
    ]


@pytest.mark.parametrize(
    ("days", "ends", "ticks"),
    [
        (0, ["2026-02-27", "2026-03-01"], [0]),
        (1, ["2026-02-27", "2026-03-02"], [0, 1]),
        (6, ["2026-02-27", "2026-03-07"], [0, 1, 2, 3, 4, 5, 6]),
        (7, ["2026-02-27", "2026-03-08"], [0, 2, 4, 6]),
        (60, ["2026-02-25", "2026-05-02"], [0, 9, 18, 27, 36, 45, 54]),
    ],
)
def test_a_short_axis_of_days_has_no_ticks_but_whole_days(days: int, ends: list[str], ticks: list[int]) -> None:
    first = date(2026, 2, 28)
    axis = charts.days(first, first + timedelta(days))
    assert (axis["type"], axis["range"], axis["tickformat"]) == ("date", ends, "%Y-%m-%d")
    assert axis["tickvals"] == [(first + timedelta(tick)).isoformat() for tick in ticks]


def test_a_long_axis_of_days_is_left_to_the_library() -> None:
    axis = charts.days(date(2025, 1, 1), date(2026, 1, 1))
    assert axis == {"type": "date", "range": ["2024-12-14", "2026-01-19"]}


def test_charts_have_only_traces_of_the_basic_bundle() -> None:
    assert {trace["type"] for chart in every() for trace in chart["data"]} == {"scatter", "bar"}


def test_tags_in_names_are_escaped() -> None:
    for chart in every():
        texts = [text for text in strings(chart) if "example" in text or "&amp;" in text]
        assert texts
        assert {tag for text in texts for tag in re.findall(r"<[^>]*>", text)} <= {"<br>"}


def test_colours_are_the_site_s_tokens() -> None:
    """Except for the transparent background, which shows the page's own."""
    css = (PROJECT_ROOT / "static" / "css" / "site.css").read_text(encoding="utf-8")
    tokens = set(re.findall(r"^\s+(--[\w-]+):", css, re.MULTILINE))
    for chart in every():
        used = {text for text in strings(chart) if re.match(r"(var\(|#|rgb)", text)}
        assert {text for text in used if not text.startswith("var(")} == {"rgba(0,0,0,0)"}
        assert {text[4:-1] for text in used if text.startswith("var(")} <= tokens


def test_dots_with_intervals() -> None:
    chart = sent(
        charts.dots(
            ["A", "B"],
            [Series("s", [0, 1], [40.0, 60.0], ["a", "b"], charts.GOOD, "x", [30, 20], [55, None])],
            title="t",
        )
    )
    trace = chart["data"][0]
    assert (trace["x"], trace["y"], trace["hovertext"]) == ([40.0, 60.0], [0, 1], ["a", "b"])
    assert (trace["error_x"]["array"], trace["error_x"]["arrayminus"]) == ([15.0, 0.0], [10.0, 40.0])
    axis = chart["layout"]["yaxis"]
    # The first name is at the top.
    assert (axis["ticktext"], axis["range"]) == (["A", "B"], [1.6, -0.6])
    assert chart["layout"]["showlegend"] is True


def test_cells_without_a_value_are_not_drawn_and_long_names_are_cut() -> None:
    name = "n" * 60
    chart = sent(
        charts.cells([name, "B"], ["Two Words Of It", "C"], [[1.0, None], [0.5, 0.0]], [["2/2", ""], ["1/2", "0/3"]])
    )
    first, second = chart["data"]
    assert (first["x"], first["base"], first["text"], first["marker"]["color"]) == (
        [1, 1],
        -0.5,
        ["2/2", "1/2"],
        [1.0, 0.5],
    )
    assert (second["x"], second["base"], second["text"]) == ([0, 1], 0.5, ["", "0/3"])
    assert chart["layout"]["xaxis"]["ticktext"] == ["Two Words Of<br>It", "C"]
    assert chart["layout"]["yaxis"]["ticktext"][0] == "n" * 43 + "…"
    assert first["hovertext"][0] == f"{name}, Two Words Of It: 2/2"
