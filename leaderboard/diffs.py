"""A unified diff as lines that a page can show: numbers on both sides, a mark, and highlighted code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.utils.safestring import SafeString, mark_safe
from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from submissions.highlighting import code_with_visible_marks, span, tokens_by_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from unidiff.patch import Hunk, Line, PatchedFile

LONGEST_DIFF: Final = 200_000
"""Characters of a difference, and of all files on one side of it. A longer difference is shown as plain text."""
MOST_LINES: Final = 5_000
"""Lines of a difference: each is a row of the page's table."""

# unidiff takes cubic time for addresses in the first of these headers, quadratic time for long names in the second.
# git, which writes what answers change, writes neither.
_SLOW_HEADER: Final = re.compile(r"^(?:diff --git [^\n]*://|Binary file[^\n]{500})", re.MULTILINE)


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
    """The files of ``diff``; empty when it is no unified diff, or too long for a table.

    ``old`` and ``new`` map paths to whole files. Where they are given, lines are highlighted as what they are there: a
    difference may begin in the middle of a string, which the difference itself does not tell.
    """
    if len(diff) > LONGEST_DIFF or diff.count("\n") > MOST_LINES or _SLOW_HEADER.search(diff):
        return []
    old_files, new_files = _whole_files(old or {}), _whole_files(new or {})
    try:
        return [_file(patched, old_files, new_files) for patched in PatchSet(diff)]
    except UnidiffParseError:
        return []


def _whole_files(texts: Mapping[str, str]) -> dict[str, list[SafeString]]:
    """Every file's lines; none where they are too long, for then each place of the difference stands for itself."""
    if sum(map(len, texts.values())) > LONGEST_DIFF:
        return {}
    return {path: _highlighted(text.split("\n"), path) for path, text in texts.items() if text}


def _file(patched: PatchedFile, old: Mapping[str, list[SafeString]], new: Mapping[str, list[SafeString]]) -> DiffFile:
    path = patched.path
    what = "added" if patched.is_added_file else "removed" if patched.is_removed_file else "changed"
    hunks = tuple(_hunk(hunk, path, old.get(path, []), new.get(path, [])) for hunk in patched)
    return DiffFile(path, what, patched.added, patched.removed, hunks)


def _hunk(hunk: Hunk, path: str, old_file: list[SafeString], new_file: list[SafeString]) -> DiffHunk:
    # "\\ No newline at end of file" is a line of the difference that stands in no file.
    code = [line for line in hunk if line.is_context or line.is_added or line.is_removed]
    old = [(line.source_line_no or 0, line.value) for line in code if not line.is_added]
    new = [(line.target_line_no or 0, line.value) for line in code if not line.is_removed]
    heading = f"@@ -{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length} @@"
    return DiffHunk(heading, tuple(_lines(code, iter(_side(old, old_file, path)), iter(_side(new, new_file, path)))))


def _side(lines: list[tuple[int, str]], whole: list[SafeString], path: str) -> list[SafeString]:
    """One side's (number, line) as safe HTML: from the whole file where that is known, else by themselves."""
    if lines and lines[-1][0] <= len(whole):
        return [whole[number - 1] for number, _ in lines]
    return _highlighted([line for _, line in lines], path)


def _lines(code: list[Line], old: Iterator[SafeString], new: Iterator[SafeString]) -> Iterator[DiffLine]:
    for line in code:
        if line.is_added:
            yield DiffLine("added", None, line.target_line_no, next(new))
        elif line.is_removed:
            yield DiffLine("removed", line.source_line_no, None, next(old))
        else:
            next(old)
            yield DiffLine("context", line.source_line_no, line.target_line_no, next(new))


def _highlighted(lines: list[str], path: str) -> list[SafeString]:
    """Consecutive lines of the file ``path`` as safe HTML, one for one."""
    source = "\n".join(line.rstrip("\r\n").replace("\x0c", " ") for line in lines)
    # A line end inside would shift the lines against each other, and a blank in its place would hide what it ends.
    tokens = tokens_by_line(code_with_visible_marks(source), path.rpartition(".")[2].lower())
    html = ["".join(span(*piece) for piece in line) for line in tokens]
    return [mark_safe(line) for line in html[: len(lines)]]  # noqa: S308 - every piece is escaped
