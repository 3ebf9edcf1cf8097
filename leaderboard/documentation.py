"""The documentation in ``docs/``: Markdown for people in the repository, the same files as pages of the site."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import nh3
from django.urls import reverse
from markdown_it import MarkdownIt

from leaderboard.settings.environment import PROJECT_ROOT
from submissions.highlighting import highlighted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from markdown_it.token import Token

FOLDER: Final = PROJECT_ROOT / "docs"
IMAGE_TYPES: Final = {".png": "image/png", ".jpg": "image/jpeg", ".svg": "image/svg+xml"}

_ORDER: Final = (
    "submitting",
    "endpoints",
    "judging",
    "agreement",
    "authoring-tasks",
    "operating",
    "configuration",
    "commands",
    "sandboxes",
    "protocols",
    "security",
    "contributing",
    "development",
)
_PAGES_OF_THEIR_OWN: Final = {"index": "docs", "about": "about"}
_TAGS: Final = {
    *("a", "br", "code", "em", "img", "span", "strong"),
    *("blockquote", "div", "hr", "li", "ol", "p", "pre", "ul"),
    *("h1", "h2", "h3", "h4", "h5"),
    *("table", "tbody", "td", "th", "thead", "tr"),
}
_ATTRIBUTES: Final = {
    "a": {"href", "title", "class", "aria-label"},
    "code": {"class"},
    "div": {"class", "role", "tabindex", "aria-label"},
    "h1": {"id"},
    "h2": {"id"},
    "h3": {"id"},
    "h4": {"id"},
    "h5": {"id"},
    "img": {"src", "alt", "title"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "span": {"class"},
}


@dataclass(frozen=True, slots=True)
class Page:
    """One rendered file. ``body`` is safe HTML and begins with the title as h1."""

    slug: str
    title: str
    body: str


def page_slugs() -> list[str]:
    """The pages in their fixed order; files that the order does not know come last, by name."""
    found = {path.stem for path in FOLDER.glob("*.md")} - _PAGES_OF_THEIR_OWN.keys()
    return [slug for slug in _ORDER if slug in found] + sorted(found - set(_ORDER))


def page(slug: str) -> Page | None:
    """The page of ``docs/<slug>.md``; None when there is no such file. ``slug`` must be a plain slug."""
    file = FOLDER / f"{slug}.md"
    if not file.is_file():
        return None
    return _rendered(file, file.stat().st_mtime_ns)


def address_of(slug: str) -> str:
    """Where the page of ``docs/<slug>.md`` is on the site."""
    name = _PAGES_OF_THEIR_OWN.get(slug)
    return reverse(name) if name else reverse("docs_page", args=[slug])


@lru_cache(maxsize=64)
def _rendered(file: Path, modified: int) -> Page:  # noqa: ARG001 - part of the cache's key
    return render(file.read_text(encoding="utf-8"), slug=file.stem)


def render(markdown: str, *, slug: str) -> Page:
    """Markdown as a page: headings with anchors, code with colours, links between files as links between pages."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    tokens = parser.parse(markdown)
    title = _anchor_headings(tokens) or slug
    for token in tokens:
        for child in token.children or []:
            _rewrite_addresses(child)
    body = parser.renderer.render(tokens, parser.options, {})
    return Page(slug, title, nh3.clean(body, tags=_TAGS, attributes=_ATTRIBUTES, link_rel="noopener"))


def _fence(_renderer: object, tokens: Sequence[Token], index: int, _options: object, _environment: object) -> str:
    language = tokens[index].info.split()
    return highlighted(tokens[index].content, language[0] if language else "text")


def _table_open(*_arguments: object) -> str:
    return '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>'


def _table_close(*_arguments: object) -> str:
    return "</table></div>"


def _anchor_headings(tokens: Sequence[Token]) -> str:
    """Give every heading an id as GitHub does, and a link to itself; answer the first h1's text."""
    title, used = "", set[str]()
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        text = "".join(child.content for child in inline.children or [])
        if opening.tag == "h1":
            title = title or text
            continue
        anchor = _unused(re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-"), used)
        opening.attrSet("id", anchor)
        inline.children = [*(inline.children or []), _anchor_token(inline, anchor, text)]
    return title


def _anchor_token(inline: Token, anchor: str, text: str) -> Token:
    token = inline.copy(type="html_inline", tag="", children=None)
    label = html.escape(f"Link to “{text}”")
    token.content = f'<a class="heading-anchor" href="#{anchor}" aria-label="{label}">#</a>'
    return token


def _unused(anchor: str, used: set[str]) -> str:
    number, candidate = 0, anchor
    while candidate in used:
        number += 1
        candidate = f"{anchor}-{number}"
    used.add(candidate)
    return candidate


def _rewrite_addresses(token: Token) -> None:
    if token.type == "link_open":
        address = _site_address(str(token.attrGet("href") or ""))
        if address:
            token.attrSet("href", address)
        else:
            # A file that the site does not serve: its name stays as text.
            token.attrs.pop("href", None)
    elif token.type == "image":
        token.attrSet("src", _image_address(str(token.attrGet("src") or "")))


def _site_address(target: str) -> str:
    """The address on the site of what a file in docs/ links to; empty when the site does not have it."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or target.startswith(("#", "/")):
        return target
    match = re.fullmatch(r"(?:\./)?([a-z0-9-]+)\.md", parts.path)
    if match is None or not (FOLDER / f"{match[1]}.md").is_file():
        return ""
    return address_of(match[1]) + (f"#{parts.fragment}" if parts.fragment else "")


def _image_address(source: str) -> str:
    match = re.fullmatch(r"(?:\./)?images/([A-Za-z0-9._-]+)", source)
    return reverse("docs_image", args=[match[1]]) if match else source
