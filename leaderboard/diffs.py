"""A unified diff as lines that a page can show: numbers on both sides, a mark, and highlighted code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound
from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unidiff.patch import Hunk, Line, PatchedFile

LONGEST_DIFF: Final = 200_000
"""Characters; a longer diff is shown as plain text, so that no answer can keep a web process busy."""

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


def read_diff(diff: str) -> list[DiffFile]:
    """The files of ``diff``; empty when it is no unified diff or longer than :data:`LONGEST_DIFF`."""
    if len(diff) > LONGEST_DIFF:
        return []
    try:
        return [_file(patched) for patched in PatchSet(diff)]
    except UnidiffParseError:
        return []


def _file(patched: PatchedFile) -> DiffFile:
    what = "added" if patched.is_added_file else "removed" if patched.is_removed_file else "changed"
    hunks = tuple(_hunk(hunk, patched.path) for hunk in patched)
    return DiffFile(patched.path, what, patched.added, patched.removed, hunks)


def _hunk(hunk: Hunk, path: str) -> DiffHunk:
    # Each side is highlighted as a whole: a string that spans several lines is one only there.
    old = iter(_highlighted([line for line in hunk if not line.is_added], path))
    new = iter(_highlighted([line for line in hunk if not line.is_removed], path))
    heading = f"@@ -{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length} @@"
    return DiffHunk(heading, tuple(_lines(hunk, old, new)))


def _lines(hunk: Hunk, old: Iterator[SafeString], new: Iterator[SafeString]) -> Iterator[DiffLine]:
    for line in hunk:
        if line.is_added:
            yield DiffLine("added", None, line.target_line_no, next(new))
        elif line.is_removed:
            yield DiffLine("removed", line.source_line_no, None, next(old))
        elif line.is_context:
            next(old)
            yield DiffLine("context", line.source_line_no, line.target_line_no, next(new))
        else:
            # "\ No newline at end of file" stands on both sides and is code on neither.
            next(old)
            next(new)


def _highlighted(lines: list[Line], path: str) -> list[SafeString]:
    """The lines of one side as safe HTML, one for one."""
    texts = [line.value.rstrip("\r\n") for line in lines]
    try:
        lexer = get_lexer_for_filename(path, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    # Anything else that Python takes for a line end would shift the lines against each other.
    source = "\n".join(text.replace("\r", " ").replace("\x0c", " ") for text in texts)
    html = highlight(source, lexer, _FORMATTER).split("\n")
    return [mark_safe(line) for line in html[: len(texts)]]  # noqa: S308 - the formatter escapes the source
