"""Draw pictures as PNG: a page's card, or any SVG."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.template.loader import render_to_string

if TYPE_CHECKING:
    from leaderboard.sharing.pictures.cards import Card

WIDTH, HEIGHT = 1200, 630
_NO_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def draw(card: Card, *, site: str) -> bytes:
    """Draw the picture in some 0.1 s; ``site`` is the address in its corner."""
    svg = render_to_string("leaderboard/card.svg", {"card": card, "name": settings.SITE_NAME, "site": site})
    return png(_NO_XML.sub("\N{REPLACEMENT CHARACTER}", svg))


def png(svg: str, *, scale: float = 1) -> bytes:
    """Convert a drawing, which names a font on each of its texts, ``scale`` times as large."""
    # Imported here: the library is slow to load, and pages do not need it.
    import pymupdf as untyped

    pymupdf: Any = untyped
    with pymupdf.open(stream=svg.encode(), filetype="svg") as document:
        drawn: bytes = document[0].get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False).tobytes("png")
    return drawn
