"""Highlight source code as safe HTML, and make characters visible that hide or reorder text.

Submitters choose the text that a web process highlights, and a backtracking regular expression cannot be interrupted:
Pygments' Python rules took minutes for one token. This scanner takes linear time instead: the first three characters
select the alternative, which then cannot fail, so no character is read more than a few times. The CSS classes
(Pygments' short names) are styled in ``static/css/site.css``.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from html import escape
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Piece: TypeAlias = tuple[str, str]
"""A CSS class (empty for plain text) and its text."""

LONGEST_HIGHLIGHTED: Final = 200_000
"""Characters. Longer texts are not highlighted, since each token is an element of the page."""
_MOST_NUMBERED: Final = 10_000
"""Lines. Longer texts have no line numbers, for the same reason."""

_HIDDEN: Final = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls except tab and line ends
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # the other format characters
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f\U000e0000-\U000e0fff"  # rendered as nothing
    "\ud800-\udfff"
    "]"
)

_EMOJI_STYLES: Final = "\ufe0e\ufe0f"
"""Valid after an emoji; after other characters they make a different identifier that looks the same."""
_RETURN: Final = re.compile(r"\r(?![\r\n]|\Z)")

_PYTHON: Final = re.compile(
    r"""
      (?P<comment>\#[^\n]*)
    | (?P<string>[bBfFrRtTuU]{0,2}(?:
          \"""[^"\\]*(?:(?:\\[\s\S]|"(?!""))[^"\\]*)*(?:\""")?
        | '''[^'\\]*(?:(?:\\[\s\S]|'(?!''))[^'\\]*)*(?:''')?
        | "[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"?
        | '[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'?
      ))
    | (?P<number>\d(?:[eE][+-]|[\w.])*)
    | (?P<decorator>@[^\W\d][\w.]*)
    | (?P<name>[^\W\d]\w*)
    | (?P<other>[^\w"'\#@]+|@)
    """,
    re.VERBOSE,
)
_CLASSES: Final = {"comment": "c", "number": "m", "decorator": "nd"}
_KEYWORDS: Final = frozenset(keyword.kwlist)
_BUILTINS: Final = frozenset(name for name in dir(builtins) if name.islower() and name[0] != "_") | {"self", "cls"}
_DIFF_MARKS: Final = {"+": "gi", "-": "gd", "@": "gu", "d": "gh", "i": "gh"}


def with_visible_marks(source: str) -> str:
    """Replace control characters, and characters that reorder or hide text (CVE-2021-42574), by their code points."""
    return _HIDDEN.sub(_code_point, source)


def code_with_visible_marks(code: str) -> str:
    """Do the same, also for carriage returns inside lines, where Python ends lines and comments."""
    return with_visible_marks(_RETURN.sub(_code_point, code))


def _code_point(found: re.Match[str]) -> str:
    mark, before = found[0], found.string[max(0, found.start() - 1) : found.start()]
    if mark in _EMOJI_STYLES and before and unicodedata.category(before).startswith("S"):
        return mark
    return f"\u2039U+{ord(mark):04X}\u203a"


def highlighted(source: str, language: str, *, first_line: int | None = None) -> str:
    """Return ``source`` as safe HTML (``<div class="code">``), with line numbers if ``first_line`` is given.

    Text that is too long for highlighting or line numbers is shown without them.
    """
    lines = tokens_by_line(with_visible_marks(source.replace("\r\n", "\n").replace("\r", "\n")), language)
    if not lines[-1]:
        lines.pop()
    html = ["".join(span(*piece) for piece in line) for line in lines]
    if first_line and len(html) <= _MOST_NUMBERED:
        width = len(str(first_line + len(html) - 1))
        html = [f'<span class="linenos">{n:{width}}</span>{line}' for n, line in enumerate(html, first_line)]
    code = "".join(f"{line}\n" for line in html)
    # Scrollable elements must be reachable by keyboard.
    return f'<div class="code"><pre tabindex="0"><code>{code}</code></pre></div>'


def pieces_of(source: str, language: str) -> Iterator[Piece]:
    """Split ``source`` into pieces, each with its class; docstrings have ``sd``.

    ``language`` is a name or a file extension; unknown languages and long texts are plain.
    """
    scan = _SCANNERS.get(language, _plain) if len(source) <= LONGEST_HIGHLIGHTED else _plain
    return scan(source)


def tokens_by_line(source: str, language: str) -> list[list[Piece]]:
    """Return the pieces of each line of ``source``; joined, they are the line."""
    lines: list[list[Piece]] = [[]]
    for kind, text in pieces_of(source, language):
        first, *others = text.split("\n")
        if first:
            lines[-1].append((kind, first))
        lines.extend([(kind, other)] if other else [] for other in others)
    return lines


def span(kind: str, text: str) -> str:
    """Return a piece as safe HTML."""
    return f'<span class="{kind}">{escape(text)}</span>' if kind else escape(text)


def _plain(source: str) -> Iterator[Piece]:
    yield "", source


def _diff(source: str) -> Iterator[Piece]:
    for found in re.finditer(r"\n+|[^\n]+", source):
        yield _DIFF_MARKS.get(found[0][0], ""), found[0]


def _python(source: str) -> Iterator[Piece]:
    before = "\n"  # the token before, blanks and operators included
    defined = False
    for found in _PYTHON.finditer(source):
        group, text = str(found.lastgroup), found[0]
        if group == "name":
            yield _class_of_name(text, before, defined=defined and before.isspace()), text
            defined = text in ("def", "class")
        elif group == "string":
            opens_line = before.rstrip(" \t").endswith("\n")
            is_triple = text.lstrip("bBfFrRtTuU").startswith(('"""', "'''"))
            yield "sd" if opens_line and is_triple else "s", text
        else:
            yield _CLASSES.get(group, ""), text
        before = text


def _class_of_name(name: str, before: str, *, defined: bool) -> str:
    if defined:
        return "nf"
    if name in _KEYWORDS:
        return "k"
    return "nb" if name in _BUILTINS and not before.endswith(".") else ""


_SCANNERS: Final[dict[str, Callable[[str], Iterator[Piece]]]] = {
    "diff": _diff,
    # Strings, numbers and comments of these look like Python's.
    **dict.fromkeys(("python", "py", "pyi", "json", "jsonl", "toml"), _python),
}
