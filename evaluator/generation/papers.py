"""Read a paper's sections in reading order from its PDF with PyMuPDF, as LMR-BENCH's paper does (section 4).

Upstream stores some papers as JSON (page number to text, no layout): each page of those is a section.
A paper is untrusted: callers use :func:`read_paper_limited`, which reads it in a child process with hard limits.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from evaluator.generation.paper_layout import Page, in_reading_order, page_of, plain
from evaluator.generation.paper_sections import Section, SectionKind, sections_of, title_of
from evaluator.generation.readable_text import is_readable
from submissions.limited_child import ChildError, ChildLimits, call_child, serve_child

MAX_BYTES: Final = 60 * 1024 * 1024
MAX_PAGES: Final = 150
MAX_CHARACTERS: Final = 1_500_000
LEAST_CHARACTERS: Final = 200
UNREADABLE: Final = (
    "The {} has no readable text: it has few letters, or its words belong to no language. "
    "A font of the PDF may not say which characters it shows; use another copy of the paper."
)

_DAMAGED: Final = (RuntimeError, ValueError, TypeError, KeyError, IndexError, MemoryError, OverflowError)

LIMITS: Final = ChildLimits(answer_bytes=4 * MAX_CHARACTERS + 1024 * 1024)


class PaperError(Exception):
    """The file cannot be read as a paper. The message is a sentence with the reason; ``late``: it took too long."""

    def __init__(self, message: str, *, late: bool = False) -> None:
        super().__init__(message)
        self.late = late


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper's title, page count and sections. ``cut`` describes what was not read, if anything."""

    title: str
    pages: int
    sections: tuple[Section, ...]
    cut: str = ""

    def as_data(self) -> dict[str, Any]:
        """Return plain data: the JSON that a model gets."""
        return dataclasses.asdict(self) | {
            "sections": [dataclasses.asdict(section) | {"kind": section.kind.value} for section in self.sections]
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Reverse :meth:`as_data`. Raises KeyError, TypeError or ValueError for anything else."""
        sections = tuple(Section(**{**given, "kind": SectionKind(given["kind"])}) for given in data["sections"])
        return cls(title=data["title"], pages=data["pages"], sections=sections, cut=data["cut"])


def read_paper(content: bytes) -> Paper:
    """Read the paper in a file. Raises PaperError. Use :func:`read_paper_limited` for untrusted files."""
    is_json = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"
    paper = _read_json(content) if is_json else _read_pdf(content)
    if not is_readable("\n".join(section.text for section in paper.sections)):
        raise PaperError(UNREADABLE.format("JSON" if is_json else "PDF"))
    return paper


def _read_json(content: bytes) -> Paper:
    try:
        given = json.loads(content.decode("utf-8-sig", "replace"))
        texts = sorted((int(number), plain(text).strip()) for number, text in given.items())
    except (ValueError, TypeError, RecursionError):
        raise PaperError(
            "The JSON is not a paper: it must hold the text of each page under the page's number."
        ) from None
    cut = f"Pages from {texts[MAX_PAGES][0]} on were not read." if len(texts) > MAX_PAGES else ""
    sections: list[Section] = []
    characters = 0
    for number, text in texts[:MAX_PAGES]:
        characters += len(text)
        if characters > MAX_CHARACTERS:
            cut = f"Pages from {number} on were not read: the text is too long."
            break
        sections.append(Section(f"Page {number}", 1, text, number, SectionKind.BODY if sections else SectionKind.FRONT))
    if characters < LEAST_CHARACTERS:
        raise PaperError("The JSON holds no text of a paper.")
    return Paper(title="", pages=len(texts), sections=tuple(sections), cut=cut)


def _read_pdf(pdf: bytes) -> Paper:
    # Web pages import this module, and PyMuPDF loads slowly.
    import pymupdf as untyped

    pymupdf: Any = untyped
    if b"%PDF-" not in pdf[:1024]:
        raise PaperError("The file is not a PDF.")
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        with pymupdf.open(stream=pdf, filetype="pdf") as document:
            if document.needs_pass:
                raise PaperError("The PDF is encrypted; remove its password.")
            count = document.page_count
            if count == 0:
                raise PaperError("The PDF has no pages.")
            pages, cut = _pages(document, count)
            titles = [(level, title, page) for level, title, page, *_ in document.get_toc()]
            named = str((document.metadata or {}).get("title") or "")
    except (*_DAMAGED, pymupdf.mupdf.FzErrorBase) as error:
        raise PaperError(f"The PDF is damaged and cannot be read ({type(error).__name__}).") from None
    lines = in_reading_order(pages)
    if sum(len(line.text) for line in lines) < LEAST_CHARACTERS:
        raise PaperError("The PDF holds no text; it may be a scan. Use one with a text layer.")
    title, title_lines = title_of(lines, named)
    rest = [line for line in lines if line not in title_lines]
    return Paper(title=title, pages=count, sections=sections_of(rest, titles), cut=cut)


def _pages(document: Any, count: int) -> tuple[list[Page], str]:
    """Return the pages within the limits, and a note on those beyond."""
    import pymupdf

    flags = pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_LIGATURES & ~pymupdf.TEXT_PRESERVE_IMAGES
    pages: list[Page] = []
    characters = 0
    for index in range(min(count, MAX_PAGES)):
        page = document.load_page(index)
        found = page_of(
            index + 1, page.rect.width, page.rect.height, page.get_text("dict", flags=flags, clip=page.rect)["blocks"]
        )
        characters += sum(len(line.text) for line in found.lines)
        if characters > MAX_CHARACTERS:
            return pages, f"Pages from {index + 1} on were not read: the text is too long."
        pages.append(found)
    return pages, f"Pages from {MAX_PAGES + 1} on were not read." if count > MAX_PAGES else ""


def read_paper_limited(path: Path, limits: ChildLimits = LIMITS) -> Paper:
    """Run :func:`read_paper` on the file at ``path`` in a child process with limits.

    Raises PaperError, and OSError where there is no file.
    """
    if path.stat().st_size > MAX_BYTES:
        raise PaperError(f"The file is larger than {MAX_BYTES // 1024 // 1024} MB.")
    try:
        with path.open("rb") as file:
            found = call_child(__name__, file, limits)
    except ChildError as error:
        why = "took too long" if error.late else "took too much memory or time, or failed"
        raise PaperError(f"Reading the paper {why}.", late=bool(error.late)) from None
    if "error" in found:
        raise PaperError(found["error"])
    return Paper.from_data(found["paper"])


def serve(limits_text: str) -> None:
    """Run as the child process: read the file from standard input, write the paper as JSON to standard output."""
    # PyMuPDF opens its files on import, which the limits forbid later.
    import pymupdf  # noqa: F401

    serve_child(limits_text, _read)


def _read(content: bytes) -> dict[str, Any]:
    try:
        return {"paper": read_paper(content).as_data()}
    except PaperError as error:
        return {"error": str(error)}
