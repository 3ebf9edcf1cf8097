"""Put the lines of a PDF's pages, as PyMuPDF extracts them, into reading order."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Fractions of the page's height in which running heads and page numbers are printed.
_EDGE: Final = 0.08
_BOLD_FLAG: Final = 16
_MOST_LINES_A_PAGE: Final = 5000

_MATH_LETTER = re.compile("[\U0001d400-\U0001d7ff]")
_SELECTOR = re.compile("[\ufe00-\ufe0f\u00ad\u200b-\u200f\x00-\x08\x0b-\x1f\ud800-\udfff]")
_SPACES = re.compile(r"[ \t\u00a0\u2000-\u200a\u202f]+")
_PAGE_NUMBER = re.compile(
    r"[-\u2013\u2014 ]*(?:page )?(?:\d{1,4}|[ivxlc]{1,6})(?: ?(?:/|of) ?\d{1,4})?[-\u2013\u2014 ]*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text: its page (from 1), PyMuPDF block, bounding box and font size in points, and boldness."""

    page: int
    block: int
    x0: float
    y0: float
    x1: float
    y1: float
    text: str
    size: float
    bold: bool


@dataclass(frozen=True, slots=True)
class Page:
    """The lines of one page in any order, and its width and height in points."""

    number: int
    width: float
    height: float
    lines: tuple[Line, ...]


def page_of(number: int, width: float, height: float, blocks: Iterable[Mapping[str, Any]]) -> Page:
    """Make a page from PyMuPDF's ``get_text("dict")["blocks"]``. Rotated text, as on a margin, is left out."""
    lines: list[Line] = []
    for index, block in enumerate(blocks):
        for given in block.get("lines", ()):
            if abs(given["dir"][0] - 1.0) > 0.01 or len(lines) >= _MOST_LINES_A_PAGE:
                continue
            line = _line(number, index, given)
            if line is not None:
                lines.append(line)
    return Page(number=number, width=width, height=height, lines=tuple(lines))


def in_reading_order(pages: Sequence[Page]) -> list[Line]:
    """Return all lines of ``pages`` in reading order, without running heads, running feet and page numbers."""
    running = _running(pages)
    ordered: list[Line] = []
    for page in pages:
        kept = [
            line
            for line in page.lines
            if not (_at_edge(line, page) and (_PAGE_NUMBER.fullmatch(line.text) or _shape(line.text) in running))
        ]
        ordered += _ordered(kept, page.width)
    return ordered


def _line(page: int, block: int, given: Mapping[str, Any]) -> Line | None:
    spans = [span for span in given["spans"] if span["text"]]
    text = _SPACES.sub(" ", _joined(spans)).strip()
    if not text:
        return None
    sizes: Counter[float] = Counter()
    bold = 0
    for span in spans:
        length = len(span["text"].strip())
        sizes[round(span["size"], 1)] += length
        is_bold = bool(span["flags"] & _BOLD_FLAG) or "bold" in span["font"].lower()
        bold += length if is_bold else 0
    x0, y0, x1, y1 = given["bbox"]
    size = sizes.most_common(1)[0][0]
    return Line(page, block, x0, y0, x1, y1, text, size, bold * 2 > sum(sizes.values()))


def _joined(spans: Sequence[Mapping[str, Any]]) -> str:
    """Join the spans' texts; superscripts become ``^{…}`` and subscripts ``_{…}``."""
    if not spans:
        return ""
    largest = max(spans, key=lambda span: (span["size"], len(span["text"])))
    base, size = largest["origin"][1], largest["size"]
    parts: list[str] = []
    for span in spans:
        text = plain(span["text"])
        lift = base - span["origin"][1]
        is_small = span["size"] < 0.85 * size and text.strip()
        if is_small and lift > 0.15 * size:
            parts.append(f"^{{{text.strip()}}}")
        elif is_small and lift < -0.08 * size:
            parts.append(f"_{{{text.strip()}}}")
        else:
            parts.append(text)
    return "".join(parts)


def plain(text: str) -> str:
    """Replace mathematical alphabets in ``text`` by ordinary characters, and drop marks that only typesetting needs."""
    text = _MATH_LETTER.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return _SELECTOR.sub("", text)


def _running(pages: Sequence[Page]) -> frozenset[str]:
    """Return the shapes of lines at the edge of at least three pages and a third of all pages."""
    seen: Counter[str] = Counter()
    for page in pages:
        seen.update({_shape(line.text) for line in page.lines if _at_edge(line, page)})
    return frozenset(shape for shape, count in seen.items() if count >= 3 and 3 * count >= len(pages))


def _shape(text: str) -> str:
    return re.sub(r"\d+", "#", text.lower())


def _at_edge(line: Line, page: Page) -> bool:
    return line.y1 < _EDGE * page.height or line.y0 > (1 - _EDGE) * page.height


def _ordered(lines: Sequence[Line], width: float) -> list[Line]:
    """Put the lines of one page into reading order: across, or by column between lines that cross the middle."""
    middle = width / 2
    left = [line for line in lines if line.x1 <= middle + 6]
    right = [line for line in lines if line.x0 >= middle - 6]
    characters = sum(len(line.text) for line in lines)
    in_columns = min(_characters(left), _characters(right))
    if min(len(left), len(right)) < 8 or in_columns * 5 < characters:
        return _rows(lines)
    ordered: list[Line] = []
    waiting: list[Line] = []
    for line in sorted(lines, key=lambda line: (line.y0, line.x0)):
        if line.x0 < middle - 6 and line.x1 > middle + 6:
            ordered += [*_by_column(waiting, middle), line]
            waiting = []
        else:
            waiting.append(line)
    return [*ordered, *_by_column(waiting, middle)]


def _characters(lines: Iterable[Line]) -> int:
    return sum(len(line.text) for line in lines)


def _by_column(lines: Sequence[Line], middle: float) -> list[Line]:
    left = [line for line in lines if line.x0 < middle - 6]
    return [*_rows(left), *_rows([line for line in lines if line.x0 >= middle - 6])]


def _rows(lines: Sequence[Line]) -> list[Line]:
    """Sort lines from the top; join those at the same height from left to right, like cells of a table."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.y0 + line.y1, line.x0)):
        if rows and _same_height(rows[-1], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [_one(sorted(row, key=lambda line: line.x0)) for row in rows]


def _same_height(row: Sequence[Line], line: Line) -> bool:
    last = row[-1]
    overlap = min(last.y1, line.y1) - max(last.y0, line.y0)
    beside = all(line.x0 >= other.x1 - 2 or line.x1 <= other.x0 + 2 for other in row)
    return beside and overlap > 0.6 * min(last.y1 - last.y0, line.y1 - line.y0)


def _one(row: Sequence[Line]) -> Line:
    if len(row) == 1:
        return row[0]
    main = max(row, key=lambda line: len(line.text))
    return Line(
        page=main.page,
        block=row[0].block,
        x0=row[0].x0,
        y0=min(line.y0 for line in row),
        x1=row[-1].x1,
        y1=max(line.y1 for line in row),
        text="  ".join(line.text for line in row),
        size=main.size,
        bold=all(line.bold for line in row),
    )
