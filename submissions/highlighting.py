"""Source code as HTML with CSS classes, and the style sheet for them, light and dark.

``python -m submissions.highlighting`` prints the style sheet, which lies in ``static/css/code.css``.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final

from pygments import format as formatted
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.style import Style
from pygments.token import STANDARD_TYPES, Comment, Generic, Keyword, Name, Number, Operator, String, Token
from pygments.util import ClassNotFound

if TYPE_CHECKING:
    from pygments.lexer import Lexer

PATIENCE_SECONDS: Final = 1.0
_MAX_CHARACTERS: Final = 200_000
_HIDDEN: Final = re.compile("[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class LightStyle(Style):
    """At least 4.5 : 1 on the light code background."""

    background_color = "#f6f7f9"
    styles = {
        Token: "#1d2733",
        Comment: "italic #5b6673",
        Keyword: "#7b2d8b",
        Operator.Word: "#7b2d8b",
        String: "#1f5f3a",
        String.Doc: "italic #4a5a50",
        Number: "#0b5394",
        Name.Function: "#0b4f9c",
        Name.Class: "#0b4f9c",
        Name.Decorator: "#8a4b00",
        Name.Builtin: "#0b5c6b",
        Generic.Deleted: "#8a3800",
        Generic.Inserted: "#0a4f80",
        Generic.Heading: "bold #1d2733",
        Generic.Subheading: "#5b6673",
    }


class DarkStyle(Style):
    """At least 4.5 : 1 on the dark code background."""

    background_color = "#161b22"
    styles = {
        Token: "#d7dde4",
        Comment: "italic #98a3b0",
        Keyword: "#d7a6e8",
        Operator.Word: "#d7a6e8",
        String: "#9fd3b0",
        String.Doc: "italic #a8b8ad",
        Number: "#8fc1f2",
        Name.Function: "#8fc1f2",
        Name.Class: "#8fc1f2",
        Name.Decorator: "#eab676",
        Name.Builtin: "#86cfdb",
        Generic.Deleted: "#f2a477",
        Generic.Inserted: "#8fc1f2",
        Generic.Heading: "bold #d7dde4",
        Generic.Subheading: "#98a3b0",
    }


def with_visible_marks(source: str) -> str:
    """``source`` with marks that reorder or hide code (CVE-2021-42574) written out by their numbers."""
    return _HIDDEN.sub(lambda found: f"\u2039U+{ord(found[0]):04X}\u203a", source)


class Patience:
    """Processor time that colours on one page may take.

    Lexers take quadratic time on texts made for it (100 000 nearly blank lines of Python take minutes), and answers
    are such texts' way to every web process.
    """

    def __init__(self, seconds: float = PATIENCE_SECONDS) -> None:
        self._left = seconds

    def tokens(self, source: str, lexer: Lexer) -> list[tuple[Any, str]]:
        """The tokens of ``source``; one plain token once patience has run out."""
        begun = time.thread_time()
        found = []
        for token in lexer.get_tokens(source):
            found.append(token)
            if time.thread_time() - begun > self._left:
                self._left = 0.0
                return list(TextLexer(stripnl=False).get_tokens(source))
        self._left -= time.thread_time() - begun
        return found


def highlighted(source: str, language: str, *, first_line: int | None = None) -> str:
    """``source`` as safe HTML (``<div class="code">``), with line numbers from ``first_line`` on when given.

    An unknown language, more than 200 000 characters, or what takes too long, is shown plain.
    """
    try:
        lexer = get_lexer_by_name(language, stripnl=False) if len(source) <= _MAX_CHARACTERS else TextLexer()
    except ClassNotFound:
        lexer = TextLexer()
    formatter = HtmlFormatter(
        cssclass="code", linenos="inline" if first_line else False, linenostart=first_line or 1, wrapcode=True
    )
    # What scrolls must be reachable by keyboard. The source itself is escaped, so the first <pre> is the formatter's.
    tokens = Patience().tokens(with_visible_marks(source), lexer)
    return str(formatted(tokens, formatter)).replace("<pre>", '<pre tabindex="0">', 1)


def stylesheet() -> str:
    """Rules for the classes of :func:`highlighted`: light, dark by preference, and dark by choice."""
    return "\n".join(
        [
            "/* Made by: python -m submissions.highlighting. Do not edit. */",
            *_rules(LightStyle, ".code"),
            "@media (prefers-color-scheme: dark) {",
            *(f"  {rule}" for rule in _rules(DarkStyle, ":root:not([data-theme=light]) .code")),
            "}",
            *_rules(DarkStyle, "[data-theme=dark] .code"),
            "",
        ]
    )


def _rules(style: type[Style], scope: str) -> list[str]:
    """One rule for each kind of token that does not look like plain text."""
    plain = style.style_for_token(Token)
    kinds = {STANDARD_TYPES[token]: look for token, look in style if STANDARD_TYPES.get(token) and look != plain}
    rules = [f"{scope} {{ background: {style.background_color}; color: #{plain['color']}; }}"]
    for name, look in kinds.items():
        extras = (" font-weight: 600;" if look["bold"] else "") + (" font-style: italic;" if look["italic"] else "")
        rules.append(f"{scope} .{name} {{ color: #{look['color']};{extras} }}")
    return rules


if __name__ == "__main__":
    import sys

    sys.stdout.write(stylesheet())
