"""PDFs with readable text, with a font that does not map to text, and with scanned pages."""

from __future__ import annotations

from typing import Any, Final

import pymupdf as untyped

pymupdf: Any = untyped

PROSE: Final = "We show that the loss of the model is lower for longer sequences, as in the earlier work. "
_SHIFT: Final = 29


def pdf_of(*texts: str, fontsize: float = 10) -> bytes:
    """A PDF with a page for each text."""
    document = pymupdf.open()
    for text in texts:
        page = document.new_page(width=600, height=800)
        page.insert_textbox((50, 50, 550, 750), text, fontsize=fontsize)
    return bytes(document.tobytes())


def shifted(text: str) -> str:
    """Return ``text`` as it is extracted if a font's glyph numbers are read as characters; spaces are lost."""
    return "".join(chr(ord(character) - _SHIFT) for character in text if character != " ")


def pdf_without_readable_text() -> bytes:
    """A paper whose font maps to no text."""
    return pdf_of(*[shifted(PROSE * 12)] * 3)


def scan() -> bytes:
    """A paper whose pages are pictures of text."""
    document = pymupdf.open()
    with pymupdf.open(stream=pdf_of(PROSE * 12), filetype="pdf") as printed:
        picture = printed.load_page(0).get_pixmap(dpi=72)
    for _ in range(2):
        page = document.new_page(width=600, height=800)
        page.insert_image(page.rect, pixmap=picture)
    return bytes(document.tobytes())
