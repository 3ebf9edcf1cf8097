"""Source code as HTML with CSS classes, and the style sheet for them, light and dark.

``python -m leaderboard.highlighting`` prints the style sheet, which lies in ``static/css/code.css``.
"""

from __future__ import annotations

from typing import Final

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.style import Style
from pygments.token import STANDARD_TYPES, Comment, Generic, Keyword, Name, Number, Operator, String, Token
from pygments.util import ClassNotFound

_MAX_CHARACTERS: Final = 200_000


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


def highlighted(source: str, language: str, *, first_line: int | None = None) -> str:
    """``source`` as safe HTML (``<div class="code">``), with line numbers from ``first_line`` on when given.

    An unknown language, or more than 200 000 characters, is shown plain.
    """
    try:
        lexer = get_lexer_by_name(language, stripnl=False) if len(source) <= _MAX_CHARACTERS else TextLexer()
    except ClassNotFound:
        lexer = TextLexer()
    formatter = HtmlFormatter(
        cssclass="code", linenos="inline" if first_line else False, linenostart=first_line or 1, wrapcode=True
    )
    # What scrolls must be reachable by keyboard. The source itself is escaped, so the first <pre> is the formatter's.
    return str(highlight(source, lexer, formatter)).replace("<pre>", '<pre tabindex="0">', 1)


def stylesheet() -> str:
    """Rules for the classes of :func:`highlighted`: light, dark by preference, and dark by choice."""
    return "\n".join(
        [
            "/* Made by: python -m leaderboard.highlighting. Do not edit. */",
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
