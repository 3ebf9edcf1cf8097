"""Render Markdown (documentation, guidelines) as safe HTML: headings with anchors, highlighted code."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from submissions.highlighting import highlighted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markdown_it.rules_core import StateCore

LONGEST_PARAGRAPH: Final = 5_000
"""Characters. Parsing links and emphasis takes quadratic time, so longer paragraphs are plain text."""

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
class Rendered:
    """Rendered Markdown: ``body`` is safe HTML, ``title`` the text of its first h1 (empty without one)."""

    title: str
    body: str


def render(markdown: str, *, rewrite: Callable[[Token], None] | None = None) -> Rendered:
    """Render Markdown as HTML. ``rewrite`` may change inline tokens, such as link addresses."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.core.ruler.before("inline", "long_paragraphs", _plain_where_too_long)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    tokens = parser.parse(markdown)
    title = _anchor_headings(tokens)
    if rewrite is not None:
        for token in tokens:
            for child in token.children or []:
                rewrite(child)
    body = parser.renderer.render(tokens, parser.options, {})
    return Rendered(title, nh3.clean(body, tags=_TAGS, attributes=_ATTRIBUTES, link_rel="noopener"))


def _plain_where_too_long(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and len(token.content) > LONGEST_PARAGRAPH:
            token.children, token.content = [Token("text", "", 0, content=token.content)], ""


def _fence(_renderer: object, tokens: Sequence[Token], index: int, _options: object, _environment: object) -> str:
    language = tokens[index].info.split()
    return highlighted(tokens[index].content, language[0] if language else "text")


def _table_open(*_arguments: object) -> str:
    return '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>'


def _table_close(*_arguments: object) -> str:
    return "</table></div>"


def _anchor_headings(tokens: Sequence[Token]) -> str:
    """Give every heading an id as GitHub does, and a link to itself; return the first h1's text."""
    title, used = "", dict[str, int]()
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


def _unused(anchor: str, used: dict[str, int]) -> str:
    candidate = anchor
    while candidate in used:
        used[anchor] += 1
        candidate = f"{anchor}-{used[anchor]}"
    used[candidate] = 0
    return candidate
