"""Text that is meant to be Python, and the ways in which models write it so that Python would not take it."""

from __future__ import annotations

import ast
import html
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmark_tasks.domain.python_source import SourceError, column, parse_source

MAX_PARSED: Final = 3_000_000
WRAPPER: Final = "if True:\n"

_PROMPT = re.compile(r"^[ \t]*(?:>>>|\.\.\.)(?: |$)")
_QUOTE = re.compile(r"^[ \t]*>(?!>) ?")
_NUMBER = re.compile(r"^[ \t]*\d{1,4}(?:[:|.)→\t]|[ \t]+\|)[ \t]?")
_SPACES = str.maketrans({"\u00a0": " ", "\u2007": " ", "\u202f": " ", "\u200b": "", "\ufeff": "", "\u2060": ""})
_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'"})
_DEF = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)\b")
_STATEMENT = re.compile(
    r"^[ \t]*(?:(?P<block>(?:async[ \t]+)?def[ \t]|class[ \t]|@)|import[ \t]|from[ \t]+[.\w]+[ \t]+import\b"
    r"|[A-Za-z_]\w*[ \t]*(?::[^=\n]+)?=(?!=))"
)
_MOST_ENDS: Final = {True: 40, False: 4}
_MOST_SEGMENTS: Final = 200


@dataclass(frozen=True, slots=True)
class Code:
    """Python that parses. ``text`` may begin with ``WRAPPER``, around code that is indented; ``statements`` never do.

    ``notes`` say what had to be mended; ``place`` is the text's place among the others (from 1), 0 outside of fences.
    """

    text: str
    statements: tuple[ast.stmt, ...]
    notes: tuple[str, ...] = ()
    place: int = 0

    @property
    def lines(self) -> tuple[str, ...]:
        """Its lines, each with its end."""
        return tuple(line + "\n" for line in self.text.split("\n"))


class TooInvolvedError(Exception):
    """So much was tried on the text that it is given up."""


@dataclass(slots=True)
class Parser:
    """Python's parser with a limit to the characters that it is given altogether, so that no text takes long."""

    left: int = MAX_PARSED

    def parse(self, text: str) -> ast.Module | None:
        """The tree, or None for what is not Python. Raises TooInvolvedError."""
        self.left -= len(text) + 200
        if self.left < 0:
            raise TooInvolvedError
        try:
            return parse_source(text)
        except SourceError:
            return None

    def code(self, text: str) -> Code | None:
        """``text`` as code, indented as it may be; None where it is not Python or empty."""
        if not text.strip() or "\0" in text:
            return None
        tree = self.parse(text)
        if tree is not None:
            return Code(text=text, statements=tuple(tree.body)) if tree.body else None
        dedented = textwrap.dedent(text)
        if dedented != text and (tree := self.parse(dedented)) is not None:
            return Code(text=dedented, statements=tuple(tree.body))
        if _first_column(text):
            # A string in it may hold less indentation than the code, so it cannot be dedented.
            tree = self.parse(WRAPPER + text)
            if tree is not None and isinstance(tree.body[0], ast.If) and len(tree.body) == 1:
                return Code(text=WRAPPER + text, statements=tuple(tree.body[0].body))
        return None


def mended(text: str, parser: Parser) -> Code | None:
    """``text`` as code, mended in the first way that makes it Python; None where none does. Raises TooInvolvedError."""
    tried: set[str] = set()
    for base, base_notes in _bases(text):
        for shaped, notes in _shapes(base):
            if shaped in tried:
                continue
            tried.add(shaped)
            code = parser.code(shaped)
            if code is not None:
                return Code(text=code.text, statements=code.statements, notes=(*base_notes, *notes))
    return None


def picked(text: str, parser: Parser) -> Code | None:
    """The definitions, imports and assignments among other text, put together; None where there are none.

    Of the text and what it may be a disguise of, the one with the most code is taken. Raises TooInvolvedError.
    """
    best: tuple[int, str, tuple[str, ...]] = (0, "", ())
    for base, notes in _bases(text):
        pieces = list(_pieces(base, parser))
        size = sum(len(piece.split()) for _, piece in pieces)
        if any(is_block for is_block, _ in pieces) and size > best[0]:
            if size < len(base.split()):
                notes = (*notes, "The text around it was left aside.")
            best = (size, "\n".join(piece for _, piece in pieces), notes)
    code = parser.code(best[1])
    return Code(text=code.text, statements=code.statements, notes=best[2]) if code else None


def _bases(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """``text``, and what it may be a disguise of."""
    yield text, ()
    spaced = text.translate(_SPACES)
    if spaced != text:
        yield spaced, ("Unusual spaces were replaced.",)
    for pattern, what in ((_PROMPT, "prompts"), (_QUOTE, "quotation marks"), (_NUMBER, "line numbers")):
        lines = [line for line in text.split("\n") if line.strip()]
        marked = [line for line in lines if pattern.match(line)]
        if marked and (len(marked) == len(lines) or pattern is _PROMPT):
            kept = text.split("\n") if pattern is not _PROMPT else marked
            yield "\n".join(pattern.sub("", line) for line in kept), (f"The {what} before its lines were left out.",)
    unescaped = html.unescape(spaced)
    if unescaped != spaced:
        yield unescaped, ("HTML escapes were read as the characters they stand for.",)
    straight = spaced.translate(_QUOTES)
    if straight != spaced:
        yield straight, ("Typographic quotation marks were replaced.",)


def _shapes(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """``text``, and the same with other indentation."""
    yield text, ()
    note = ("Its indentation was mended.",)
    shape: Callable[[str], str]
    for shape in (_first_line_moved, _tabs_expanded, _body_indented):
        yield shape(text), note
    yield _body_indented(_tabs_expanded(textwrap.dedent(text))), note


def _first_line_moved(text: str) -> str:
    """A block that was stripped as a whole: its first line lost the indentation that the others have."""
    first, newline, rest = text.strip("\n").partition("\n")
    return first.lstrip(" \t") + newline + textwrap.dedent(rest)


def _tabs_expanded(text: str) -> str:
    return "\n".join(line.expandtabs(4) for line in text.split("\n"))


def _body_indented(text: str) -> str:
    """A body that stands in its ``def``'s column: every line after the (first) header is indented once."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if _DEF.match(line)), None)
    if start is None:
        return text
    end = start
    while end < len(lines) - 1 and not lines[end].split("#")[0].rstrip().endswith(":"):
        end += 1
    return "\n".join([*lines[: end + 1], *("    " + line if line.strip() else line for line in lines[end + 1 :])])


def _pieces(text: str, parser: Parser) -> Iterator[tuple[bool, str]]:
    """Every statement of a kind that belongs into an answer: whether it is a definition, and its text from column 0."""
    lines = text.split("\n")
    number = found = 0
    while number < len(lines) and found < _MOST_SEGMENTS:
        start = _STATEMENT.match(lines[number])
        end, code = _statement_end(lines, number, bool(start["block"]), parser) if start else (0, None)
        if start is None or code is None:
            number += 1
            continue
        found += 1
        if code.text.startswith(WRAPPER):
            # It keeps the wrapper, and so stays a statement of its own between the others.
            yield bool(start["block"]), code.text
        else:
            yield bool(start["block"]), code.text + "\n"
        number = end


def _statement_end(lines: list[str], first: int, is_block: bool, parser: Parser) -> tuple[int, Code | None]:
    """The line after the statement that begins at ``first``, and the statement; None where there is none."""
    outer = column(lines[first])
    tries = 0
    for end in range(first + 1, len(lines) + 1):
        if end < len(lines) and (not lines[end].strip() or column(lines[end]) > outer):
            continue
        tries += 1
        code = parser.code("\n".join(lines[first:end]))
        if code is not None:
            return end, code
        if tries >= _MOST_ENDS[is_block]:
            break
    return 0, None


def _first_column(text: str) -> int:
    return next((column(line) for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")), 0)
