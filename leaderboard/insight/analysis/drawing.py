"""Draw charts as SVG, for pages (in the colours of the site's design tokens) and as files of their own (in light ones).

Colours, sizes and fonts are attributes of the elements: the site's policy forbids inline styles, and MuPDF, which makes
PNG files, reads no style sheets. Texts wrap and are never cut.
"""

from __future__ import annotations

import re
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from leaderboard.insight.analysis.charts import INK, LINE, MIDDLE, MUTED, PAPER, SURFACE, Bars, Dots, Grid, Plane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leaderboard.insight.analysis.axes import Axis
    from leaderboard.insight.analysis.charts import Chart, Point, Series

PHONE, COLUMN, WIDE = 360, 420, 780
"""Widths of drawings: on a phone, in a column of the page of all figures, and on a page of its own."""
LIGHT: Final = {
    "ink": "#17202b",
    "muted": "#55606d",
    "line": "#dde2e8",
    "surface": "#f6f7f9",
    "paper": "#fff",
    "good": "#0b5fa5",
    "middle": "#7db8e2",
    "bad": "#d9a066",
    "action-run": "#0b5fa5",
    "action-read": "#7db8e2",
    "action-edit": "#c97f2c",
    "action-message": "#8a6fae",
    "action-finish": "#3f8f6b",
    "action-other": "#9aa3ad",
}
"""The tokens' light colours, for files; a test compares them with the stylesheet."""
SIZE: Final = 13
_LEADING: Final = 15
_CHARACTER: Final = 6.6
"""Width of a character, rather too wide: fonts differ."""
_ROW, _DENSE_ROW, _DODGE, _BAR = 22, 16, 10, 13
_SEVERAL: Final = 2
_MOST_SPACIOUS: Final = 16
"""With more rows than this, they are close together."""
_PLANE_HEIGHT: Final = 200
_HEAD: Final = 13
"""Distance of the lines of a column's name, which is written upwards."""
_RIGHT: Final = 14
_NO_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Drawing(NamedTuple):
    """A chart as SVG, and its height."""

    svg: str
    height: float


class Drawn(NamedTuple):
    """The elements of a drawing, and its height."""

    parts: list[str]
    height: float


class _Rows(NamedTuple):
    """Rows with their names: the left edge of the values, each row's middle, the end of the last, and the names."""

    left: float
    middles: list[float]
    end: float
    parts: list[str]


def drawing(chart: Chart, *, label: str, width: int = COLUMN) -> Drawing:
    """Draw ``chart`` for a page. ``label`` names it for screen readers."""
    drawn = _draw(chart, width)
    look = f'class="drawing" role="img" aria-label="{_escaped(label)}"'
    return Drawing(_svg(width, drawn.height, look, drawn.parts), drawn.height)


def standalone(chart: Chart, *, title: str, subtitle: str, source: str, width: int = WIDE) -> str:
    """Draw ``chart`` as a file with its finding, its method and where it is from, on white."""
    margin, inside = 24, width - 48
    parts, y = [], margin + 4.0
    for text, size, color, bold in ((title, 20, INK, True), (subtitle, 14, MUTED, False)):
        for line in wrap(text, int(inside / (size * _CHARACTER / SIZE))):
            parts.append(_text(margin, y + size * 0.8, line, color, size=size, bold=bold))
            y += size * 1.3
        y += 6
    drawn = _draw(chart, inside)
    y += 8
    parts.append(f'<g transform="translate({margin} {y:g})">{"".join(drawn.parts)}</g>')
    y += drawn.height + 22
    parts.append(_text(margin, y, source, MUTED, size=12))
    area = f'width="{width}" height="{y + margin:g}"'
    ground = f'<rect {area} fill="var(--{PAPER})"/>'
    svg = _svg(width, y + margin, f'xmlns="http://www.w3.org/2000/svg" {area}', [ground, *parts])
    svg = svg.replace("<text ", '<text font-family="Helvetica" ')
    # In attributes alone: quotation marks in texts are escaped.
    return re.sub(r'"var\(--([\w-]+)\)"', lambda token: f'"{LIGHT[token[1]]}"', svg)


def _svg(width: float, height: float, attributes: str, parts: Sequence[str]) -> str:
    return f'<svg {attributes} viewBox="0 0 {width:g} {height:g}">{"".join(parts)}</svg>'


def _draw(chart: Chart, width: int) -> Drawn:
    match chart:
        case Dots():
            return _dots(chart, width)
        case Bars():
            return _bars(chart, width)
        case Grid():
            return _grid(chart, width)
        case Plane():
            return _plane(chart, width)


def _dots(chart: Dots, width: int) -> Drawn:
    legend, top = _legend([(each.name, _symbol(each, 8, -4)) for each in chart.series if each.name], width)
    in_row: list[list[tuple[Series, Point]]] = [[] for _ in chart.names]
    for series in chart.series:
        for point in series.points:
            in_row[int(point.at)].append((series, point))
    least = _least_row(len(chart.names))
    heights = [least if len(each) < _SEVERAL else _DODGE * len(each) + 8 for each in in_row]
    rows = _rows(chart.names, width, top, heights)
    room = width - rows.left - _RIGHT
    parts = [*legend, *rows.parts, *_axis_below(chart.axis, rows.left, room, top, rows.end)]
    if chart.mark is not None:
        x = rows.left + room * chart.axis.share(chart.mark)
        parts.append(_line(x, top, x, rows.end, MUTED, 1.5))
    for middle, each in zip(rows.middles, in_row, strict=True):
        for number, (series, point) in enumerate(each):
            y = middle + (number - (len(each) - 1) / 2) * _DODGE
            inner = ""
            if point.low is not None and point.high is not None:
                low, high = (rows.left + room * chart.axis.share(value) for value in (point.low, point.high))
                inner = _whisker(low, y, high, y, series.color)
            inner += _symbol(series, rows.left + room * chart.axis.share(point.value), y)
            parts.append(_mark(point.text, inner))
    return Drawn(parts, rows.end + _below_height(chart.axis, room))


def _bars(chart: Bars, width: int) -> Drawn:
    entries = [(part.name, _box(0, -10, 12, 12, part.color)) for part in chart.parts]
    legend, top = _legend(entries if len(entries) > 1 else [], width)
    thick = _BAR if chart.joined else _BAR - 2
    number = 1 if chart.joined else len(chart.parts)
    rows = _rows(chart.names, width, top, [max(_least_row(len(chart.names)), thick * number + 9)] * len(chart.names))
    room = width - rows.left - _RIGHT
    parts = [*legend, *rows.parts, *_axis_below(chart.axis, rows.left, room, top, rows.end)]
    for place, middle in enumerate(rows.middles):
        x, y = rows.left, middle - thick * number / 2
        for part in chart.parts:
            long = room * chart.axis.share(part.values[place])
            if long > 0:
                parts.append(_mark(part.texts[place], _box(x, y, long, thick, part.color)))
            x, y = (x + long, y) if chart.joined else (x, y + thick)
    return Drawn(parts, rows.end + _below_height(chart.axis, room))


def _grid(chart: Grid, width: int) -> Drawn:
    left = _gutter(chart.names, width)
    side = (width - left - 2) / max(1, len(chart.columns))
    most = max(1, int(side / _HEAD))
    heads = [_fit(column, most) for column in chart.columns]
    top = max((len(line) for head in heads for line in head), default=0) * _CHARACTER + 10
    rows = _rows(chart.names, width, top, [_ROW] * len(chart.names))
    parts = list(rows.parts)
    for place, head in enumerate(heads):
        x = left + side * (place + 0.5) - _HEAD * (len(head) - 1) / 2 + 4
        for number, line in enumerate(head):
            at = x + number * _HEAD
            turned = f'transform="rotate(-90 {at:g} {top - 6:g})"'
            parts.append(_text(at, top - 6, line, MUTED, size=12, more=turned))
    edges = [*(middle - _ROW / 2 for middle in rows.middles), rows.end]
    for place, cells in enumerate(chart.cells):
        y, high = edges[place], edges[place + 1] - edges[place]
        for column, cell in enumerate(cells):
            if cell is None:
                continue
            x = left + side * column
            inner = _box(x, y, side, high, SURFACE, f'stroke="var(--{LINE})"')
            inner += _box(x, y, side, high, MIDDLE, f'fill-opacity="{cell.share:.2f}" stroke="var(--{LINE})"')
            inner += _text(x + side / 2, y + high / 2 + 4, cell.shown, INK, anchor="middle", size=12)
            parts.append(_mark(cell.text, inner))
    return Drawn(parts, rows.end + 2)


def _plane(chart: Plane, width: int) -> Drawn:
    entries = [(each.name, _symbol(each, 8, -4)) for each in chart.series]
    if chart.line:
        entries.append((chart.line_name, _line(0, -4, 16, -4, MUTED, 2, dashed=True)))
    legend, top = _legend(entries, width)
    title = _text(0, top + 10, chart.up.title, MUTED, size=12)
    top += 22
    left = max(len(label) for _, label in chart.up.ticks) * _CHARACTER + 8
    room, end = width - left - _RIGHT, top + _PLANE_HEIGHT
    parts = [*legend, title, *_axis_below(chart.across, left, room, top, end)]

    def x_of(value: float) -> float:
        return left + room * chart.across.share(value)

    def y_of(value: float) -> float:
        return end - _PLANE_HEIGHT * chart.up.share(value)

    for value, label in chart.up.ticks:
        parts.append(_line(left, y_of(value), width - _RIGHT, y_of(value), LINE, 1))
        parts.append(_text(left - 6, y_of(value) + 4, label, MUTED, anchor="end", size=12))
    if chart.line:
        parts.append(_steps([(x_of(x), y_of(y)) for x, y in chart.line]))
    marks = [
        (point.at, number, _plane_mark(point, series, x_of, y_of))
        for number, series in enumerate(chart.series)
        for point in series.points
    ]
    return Drawn([*parts, *(mark for *_, mark in sorted(marks))], end + _below_height(chart.across, room))


def _plane_mark(point: Point, series: Series, x_of: Callable[[float], float], y_of: Callable[[float], float]) -> str:
    x, inner = x_of(point.at), ""
    if point.low is not None and point.high is not None:
        inner = _whisker(x, y_of(point.low), x, y_of(point.high), series.color)
    return _mark(point.text, inner + _symbol(series, x, y_of(point.value)))


def _steps(points: Sequence[tuple[float, float]]) -> str:
    (x, y), *more = points
    path = f"M{x:.1f} {y:.1f}" + "".join(f"H{to:.1f}V{up:.1f}" for to, up in more)
    return f'<path d="{path}" fill="none" stroke="var(--{MUTED})" stroke-width="2" stroke-dasharray="5 4"/>'


def _least_row(number: int) -> float:
    return _ROW if number <= _MOST_SPACIOUS else _DENSE_ROW


def _gutter(names: Sequence[str], width: int) -> float:
    lines = [line for name in names for line in _name_lines(name, width)]
    return max((len(line) for line in lines), default=0) * _CHARACTER + 10


def _name_lines(name: str, width: int) -> list[str]:
    return wrap(_clean(name), int(0.42 * width / _CHARACTER)) or [""]


def _fit(name: str, most: int) -> list[str]:
    """Wrap ``name`` into at most ``most`` lines of equal length."""
    length = max(8, -(-len(name) // most))
    while len(lines := wrap(name, length, break_long_words=False) or [""]) > most:
        length += 1
    return lines


def _rows(names: Sequence[str], width: int, top: float, least: Sequence[float]) -> _Rows:
    left, y = _gutter(names, width), top
    middles, parts = [], []
    for name, needed in zip(names, least, strict=True):
        lines = _name_lines(name, width)
        height = max(needed, _LEADING * len(lines) + (4 if len(lines) > 1 else 0))
        first = y + height / 2 - _LEADING * (len(lines) - 1) / 2 + 4
        parts += [
            _text(left - 8, first + _LEADING * place, line, INK, anchor="end") for place, line in enumerate(lines)
        ]
        middles.append(y + height / 2)
        y += height
    return _Rows(left, middles, y, parts)


def _axis_below(axis: Axis, left: float, room: float, top: float, end: float) -> Iterator[str]:
    for value, label in axis.ticks:
        x = left + room * axis.share(value)
        yield _line(x, top, x, end, LINE, 1)
        yield _text(x, end + 16, label, MUTED, anchor="middle", size=12)
    for place, line in enumerate(_title_lines(axis, room)):
        yield _text(left, end + 34 + place * _LEADING, line, MUTED, size=12)


def _title_lines(axis: Axis, room: float) -> list[str]:
    return wrap(axis.title, int(room / (_CHARACTER - 0.5)))


def _below_height(axis: Axis, room: float) -> float:
    return 24 + _LEADING * len(_title_lines(axis, room))


def _legend(entries: Sequence[tuple[str, str]], width: float) -> tuple[list[str], float]:
    """Place the entries (name, symbol drawn at the origin) in lines; return them and the height below."""
    if not entries:
        return [], 4.0
    parts, x, y = [], 0.0, 14.0
    for name, symbol in entries:
        long = 24 + len(name) * _CHARACTER
        if x and x + long > width:
            x, y = 0.0, y + _LEADING + 2
        parts.append(f'<g transform="translate({x:g} {y:g})">{symbol}{_text(20, 0, name, INK)}</g>')
        x += long + 12
    return parts, y + 10


def _symbol(series: Series, x: float, y: float) -> str:
    color = f"var(--{series.color})"
    match series.symbol:
        case "square":
            return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" fill="{color}"/>'
        case "diamond":
            shape = f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"
            return f'<path d="{shape}" fill="var(--{PAPER})" stroke="{color}" stroke-width="2"/>'
        case "cross":
            shape = f"M{x - 4:.1f} {y - 4:.1f}l8 8M{x + 4:.1f} {y - 4:.1f}l-8 8"
            return f'<path d="{shape}" fill="none" stroke="{color}" stroke-width="2.5"/>'
        case "ring":
            return (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="var(--{PAPER})" stroke="{color}" stroke-width="2"/>'
            )
        case _:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{color}"/>'


def _whisker(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    across, down = (0, 4) if y1 == y2 else (4, 0)
    ends = "".join(_line(x - across, y - down, x + across, y + down, color, 2) for x, y in ((x1, y1), (x2, y2)))
    return _line(x1, y1, x2, y2, color, 2) + ends


def _mark(text: str, inner: str) -> str:
    return f'<g class="mark"><title>{_escaped(text)}</title>{inner}</g>'


def _box(x: float, y: float, width: float, height: float, color: str, more: str = "") -> str:
    edge = more or f'stroke="var(--{PAPER})"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="var(--{color})" {edge}/>'


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="var(--{color})" stroke-width="{width:g}"{dash}/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    color: str,
    *,
    anchor: str = "start",
    size: float = SIZE,
    bold: bool = False,
    more: str = "",
) -> str:
    look = f'font-size="{size:g}" fill="var(--{color})" text-anchor="{anchor}"' + (
        ' font-weight="bold"' if bold else ""
    )
    return f'<text x="{x:.1f}" y="{y:.1f}" {look} {more}>{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
