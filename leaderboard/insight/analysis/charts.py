"""Build Plotly figures. Colours are CSS variables of the site, such as ``var(--good)``, which a script resolves.

Only scatter and bar traces are used: the site ships Plotly's basic bundle. Untrusted names are escaped, since Plotly
interprets tags in texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from html import escape
from textwrap import wrap
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

Trace: TypeAlias = "dict[str, Any]"
Chart: TypeAlias = "Mapping[str, Any]"

INK, MUTED, LINE, PAPER, SURFACE = (f"var(--{name})" for name in ("ink", "muted", "line", "paper", "surface"))
GOOD, MIDDLE, BAD, ACCENT = (f"var(--{name})" for name in ("good", "middle", "bad", "accent"))
LONGEST_NAME: Final = 44
MOST_ROWS: Final = 40
"""Number of rows of a long table that are drawn; a chart with more is not readable."""
ROW_HEIGHT: Final = 26
LONGEST_IN_DAYS, MOST_DAYS = 60, 7
"""An axis of up to ``LONGEST_IN_DAYS`` days has ticks at single days, at most ``MOST_DAYS``."""
_SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
_LINES: Final = (GOOD, BAD, MUTED, MIDDLE)


class Series(NamedTuple):
    """Points of one kind: ``rows`` are their positions, ``values`` their numbers, ``texts`` their descriptions."""

    name: str
    rows: Sequence[Any]
    values: Sequence[float | None]
    texts: Sequence[str]
    color: str
    symbol: str = "circle"
    lows: Sequence[float | None] = ()
    highs: Sequence[float | None] = ()


class Part(NamedTuple):
    """One part of every stacked bar."""

    name: str
    values: Sequence[float]
    texts: Sequence[str]
    color: str


def dots(names: Sequence[str], series: Sequence[Series], *, title: str, **axis: Any) -> Chart:
    """Draw a row for each name, with a point for each series, and intervals if the series has any."""
    traces = []
    for each in series:
        trace: Trace = {
            "type": "scatter",
            "mode": "markers",
            "name": each.name,
            "x": list(each.values),
            "y": list(each.rows),
            **_hover(each.texts),
            "marker": {
                "color": each.color,
                "symbol": each.symbol,
                "size": 10,
                "line": {"color": each.color, "width": 2},
            },
        }
        if each.lows:
            trace["error_x"] = {
                "type": "data",
                "symmetric": False,
                "array": [_reach(value, high) for value, high in zip(each.values, each.highs, strict=True)],
                "arrayminus": [_reach(low, value) for value, low in zip(each.values, each.lows, strict=True)],
                "color": each.color,
                "thickness": 2,
                "width": 4,
            }
        traces.append(trace)
    # A legend even for one series: its name says who measured.
    return _figure(traces, names=names, xaxis={"title": {"text": title}, **axis}, showlegend=True)


def stacked(names: Sequence[str], parts: Sequence[Part], *, title: str, **axis: Any) -> Chart:
    """Draw a bar for each name, made of the same parts."""
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": part.name,
            "x": list(part.values),
            "y": list(range(len(names))),
            **_hover(part.texts),
            "marker": {"color": part.color, "line": {"color": PAPER, "width": 1}},
        }
        for part in parts
    ]
    return _figure(traces, names=names, xaxis={"title": {"text": title}, **axis}, barmode="stack", bargap=0.3)


def bars(names: Sequence[str], series: Sequence[Part], *, title: str, **axis: Any) -> Chart:
    """Draw bars side by side."""
    found = stacked(names, series, title=title, **axis)
    return {**found, "layout": {**found["layout"], "barmode": "group"}}


def cells(
    names: Sequence[str],
    columns: Sequence[str],
    shares: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
) -> Chart:
    """Draw a grid of coloured cells, one bar trace per column; shares are from 0 to 1, None leaves a cell empty."""
    rows = list(range(len(names)))
    traces = []
    for place, column in enumerate(columns):
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": _text(column),
                "showlegend": False,
                "base": place - 0.5,
                "x": [1 if line[place] is not None else 0 for line in shares],
                "y": rows,
                "text": [line[place] for line in texts],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "textangle": 0,
                "insidetextfont": {"color": INK},
                "hovertext": [
                    f"{_text(name)}, {_text(column)}: {line[place]}" for name, line in zip(names, texts, strict=True)
                ],
                "hoverinfo": "text",
                "marker": {
                    "color": [line[place] or 0 for line in shares],
                    "cmin": 0,
                    "cmax": 1,
                    "colorscale": [[0, SURFACE], [1, MIDDLE]],
                    "line": {"color": LINE, "width": 1},
                },
            }
        )
    axis = {
        "tickvals": list(range(len(columns))),
        "ticktext": [_lines_of(column) for column in columns],
        "tickfont": {"size": 11},
        "side": "top",
        "tickangle": 0,
        "range": [-0.5, len(columns) - 0.5],
        "showgrid": False,
    }
    return _figure(traces, names=names, xaxis=axis, barmode="overlay", bargap=0.06)


def steps(
    series: Sequence[Series], line: Sequence[tuple[Any, float]], *, line_name: str, title: str, score: str, **axis: Any
) -> Chart:
    """Draw points with a line of steps above them. Here the series' ``rows`` are positions on the horizontal axis."""
    traces: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": line_name,
            "x": [x for x, _ in line],
            "y": [y for _, y in line],
            "line": {"color": MUTED, "width": 2, "shape": "hv", "dash": "dash"},
            "hoverinfo": "skip",
        }
    ]
    traces += [
        {
            "type": "scatter",
            "mode": "markers",
            "name": each.name,
            "x": list(each.rows),
            "y": list(each.values),
            **_hover(each.texts),
            "marker": {"color": each.color, "symbol": each.symbol, "size": 10},
        }
        for each in series
    ]
    return _figure(
        traces, height=420, xaxis={"title": {"text": title}, **axis}, yaxis={"title": {"text": score}, **_PERCENT}
    )


def days(first: date, last: date) -> Trace:
    """Return an axis of dates from ``first`` to ``last`` with at least a day of margin, with ticks at whole days.

    Plotly itself divides a few days into hours, and a single day into milliseconds.
    """
    span = (last - first).days
    room = timedelta(max(1, span // 20))
    axis: Trace = {"type": "date", "range": [(first - room).isoformat(), (last + room).isoformat()]}
    if span <= LONGEST_IN_DAYS:
        ticks = range(0, span + 1, span // MOST_DAYS + 1)
        axis["tickvals"] = [(first + timedelta(tick)).isoformat() for tick in ticks]
        axis["tickformat"] = "%Y-%m-%d"
    return axis


def lines(columns: Sequence[str], series: Sequence[Series], *, title: str) -> Chart:
    """Draw a line for each series over the same few columns; ``rows`` are the columns' indices."""
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": _short(each.name),
            "x": list(each.rows),
            "y": list(each.values),
            **_hover(each.texts),
            "line": {"color": _LINES[number % len(_LINES)], "dash": "dot" if each.symbol.endswith("open") else "solid"},
            "marker": {"color": _LINES[number % len(_LINES)], "symbol": _SYMBOLS[number % len(_SYMBOLS)], "size": 9},
        }
        for number, each in enumerate(series)
    ]
    axis = {
        "tickvals": list(range(len(columns))),
        "ticktext": [_lines_of(column) for column in columns],
        "range": [-0.3, len(columns) - 0.7],
    }
    return _figure(traces, height=440, xaxis=axis, yaxis={"title": {"text": title}, **_PERCENT})


_PERCENT: Final = {"range": [-3, 103]}


def _figure(
    traces: Sequence[Trace],
    *,
    names: Sequence[str] = (),
    height: int = 0,
    xaxis: Trace,
    yaxis: Mapping[str, Any] = MappingProxyType({}),
    **layout: Any,
) -> Chart:
    # Imported here: it takes a third of a second, once in each process.
    import plotly.graph_objects as go

    if names:
        yaxis = {
            "tickvals": list(range(len(names))),
            "ticktext": [_short(name) for name in names],
            "range": [len(names) - 0.4, -0.6],
            "showgrid": False,
        }
        height = 110 + ROW_HEIGHT * len(names)
    figure = go.Figure(
        data=list(traces),
        layout={
            "template": "none",
            "height": height,
            "font": {"color": INK, "size": 13},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 10, "r": 20, "t": 40, "b": 10},
            "showlegend": len(traces) > 1,
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 1,
                "yanchor": "bottom",
                "xanchor": "left",
                "traceorder": "normal",
            },
            "hovermode": "closest",
            "hoverlabel": {"bgcolor": PAPER, "bordercolor": MUTED, "font": {"color": INK}, "align": "left"},
            "dragmode": False,
            "xaxis": {**_AXIS, **xaxis, "title": {**_AXIS_TITLE, **xaxis.get("title", {})}},
            "yaxis": {**_AXIS, **yaxis, "title": {**_AXIS_TITLE, **yaxis.get("title", {})}},
            **layout,
        },
    )
    found: Chart = figure.to_plotly_json()
    return found


_AXIS: Final = {
    "automargin": True,
    "fixedrange": True,
    "gridcolor": LINE,
    "linecolor": LINE,
    "zeroline": False,
}
_AXIS_TITLE: Final = {"font": {"size": 13, "color": MUTED}}


def _hover(texts: Sequence[str]) -> Trace:
    return {"hovertext": [_text(text) for text in texts], "hoverinfo": "text"}


def _reach(low: float | None, high: float | None) -> float:
    return 0.0 if low is None or high is None else high - low


def _short(name: str, longest: int = LONGEST_NAME) -> str:
    return _text(name if len(name) <= longest else f"{name[: longest - 1]}…")


def _lines_of(name: str) -> str:
    return "<br>".join(map(_text, wrap(name, 13, break_long_words=False)))


def _text(name: str) -> str:
    return escape(name)
