"""A unified diff as lines that a page can show: numbers on both sides, a mark, and highlighted code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from django.utils.safestring import SafeString, mark_safe
from pygments import format as formatted
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.data import JsonLexer, YamlLexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from submissions.highlighting import Patience, with_visible_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pygments.lexer import Lexer
    from unidiff.patch import Hunk, Line, PatchedFile

    Colour = Callable[[list[str]], list[SafeString]]

LONGEST_DIFF: Final = 200_000
"""Characters; a longer diff is shown as plain text, so that no answer can keep a web process busy."""

# Whoever sends a difference names its files, so only lexers that no text keeps busy within one token are taken.
_LEXERS: Final = {
    "py": PythonLexer,
    "pyi": PythonLexer,
    "json": JsonLexer,
    "jsonl": JsonLexer,
    "yaml": YamlLexer,
    "yml": YamlLexer,
}
_FORMATTER: Final = HtmlFormatter(nowrap=True)


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line. ``kind`` is ``added``, ``removed`` or ``context``; a side on which it does not stand has no number."""

    kind: str
    old: int | None
    new: int | None
    html: SafeString

    @property
    def mark(self) -> str:
        """What diffs put before the line."""
        return {"added": "+", "removed": "\N{MINUS SIGN}"}.get(self.kind, "")


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """Consecutive lines; ``heading`` is the line range that diffs print."""

    heading: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class DiffFile:
    """One changed file and how many lines were added and removed."""

    path: str
    what: str
    added: int
    removed: int
    hunks: tuple[DiffHunk, ...]


def read_diff(
    diff: str, *, old: Mapping[str, str] | None = None, new: Mapping[str, str] | None = None
) -> list[DiffFile]:
    """The files of ``diff``; empty when it is no unified diff or longer than :data:`LONGEST_DIFF`.

    ``old`` and ``new`` map paths to whole files. Where they are given, lines are highlighted as what they are there: a
    difference may begin in the middle of a string, which the difference itself does not tell.
    """
    if len(diff) > LONGEST_DIFF:
        return []
    patience = Patience()
    try:
        return [_file(patched, old or {}, new or {}, patience) for patched in PatchSet(diff)]
    except UnidiffParseError:
        return []


def _file(patched: PatchedFile, old: Mapping[str, str], new: Mapping[str, str], patience: Patience) -> DiffFile:
    path = patched.path
    what = "added" if patched.is_added_file else "removed" if patched.is_removed_file else "changed"
    colour = partial(_highlighted, lexer=_lexer_for(path), patience=patience)
    old_file, new_file = (_whole(texts.get(path, ""), colour) for texts in (old, new))
    hunks = tuple(_hunk(hunk, colour, old_file, new_file) for hunk in patched)
    return DiffFile(path, what, patched.added, patched.removed, hunks)


def _whole(text: str, colour: Colour) -> list[SafeString]:
    return colour(text.split("\n")) if 0 < len(text) <= LONGEST_DIFF else []


def _hunk(hunk: Hunk, colour: Colour, old_file: list[SafeString], new_file: list[SafeString]) -> DiffHunk:
    # "\\ No newline at end of file" is a line of the difference that stands in no file.
    code = [line for line in hunk if line.is_context or line.is_added or line.is_removed]
    old = [(line.source_line_no or 0, line.value) for line in code if not line.is_added]
    new = [(line.target_line_no or 0, line.value) for line in code if not line.is_removed]
    heading = f"@@ -{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length} @@"
    return DiffHunk(
        heading, tuple(_lines(code, iter(_side(old, old_file, colour)), iter(_side(new, new_file, colour))))
    )


def _side(lines: list[tuple[int, str]], whole: list[SafeString], colour: Colour) -> list[SafeString]:
    """One side's (number, line) as safe HTML: from the whole file where that is known, else by themselves."""
    if lines and lines[-1][0] <= len(whole):
        return [whole[number - 1] for number, _ in lines]
    return colour([line for _, line in lines])


def _lines(code: list[Line], old: Iterator[SafeString], new: Iterator[SafeString]) -> Iterator[DiffLine]:
    for line in code:
        if line.is_added:
            yield DiffLine("added", None, line.target_line_no, next(new))
        elif line.is_removed:
            yield DiffLine("removed", line.source_line_no, None, next(old))
        else:
            next(old)
            yield DiffLine("context", line.source_line_no, line.target_line_no, next(new))


def _lexer_for(path: str) -> Lexer:
    return _LEXERS.get(path.rpartition(".")[2].lower(), TextLexer)(stripnl=False)


def _highlighted(lines: list[str], *, lexer: Lexer, patience: Patience) -> list[SafeString]:
    """Consecutive lines as safe HTML, one for one."""
    # Anything else that Python takes for a line end would shift the lines against each other.
    source = "\n".join(line.rstrip("\r\n").replace("\r", " ").replace("\x0c", " ") for line in lines)
    html = formatted(patience.tokens(with_visible_marks(source), lexer), _FORMATTER).split("\n")
    return [mark_safe(line) for line in html[: len(lines)]]  # noqa: S308 - the formatter escapes the source
