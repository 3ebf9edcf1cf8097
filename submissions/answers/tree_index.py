"""What an output tree is compared with: the papers of a suite and the files of their masked repositories, by hash.

It is made where the content store is (:mod:`submissions.domain.masked`) and handed to the limited process that reads
uploads. No Django here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

MAX_FILE_BYTES = 1024 * 1024
"""Files longer than this are data: they are no part of an answer, and are not even read."""


@dataclass(frozen=True, slots=True)
class FileMark:
    """A masked file as far as comparing needs it: its size in bytes, and SHA-256 (hexadecimal) of its content.

    ``plain`` is the hash without carriage returns. Both are empty for files longer than :data:`MAX_FILE_BYTES`.
    """

    size: int
    exact: str = ""
    plain: str = ""


def mark_of(content: bytes) -> FileMark:
    """The mark of a file with this content."""
    exact = hashlib.sha256(content).hexdigest()
    plain = hashlib.sha256(content.replace(b"\r", b"")).hexdigest() if b"\r" in content else exact
    return FileMark(size=len(content), exact=exact, plain=plain)


@dataclass(frozen=True, slots=True)
class IndexedPaper:
    """One paper: its slug, how its folders are called, the files that hold goals, and its masked repository.

    ``closed`` says why each of its tasks takes no answers where none does; it has no files then.
    """

    slug: str
    folder: str
    repository: str
    goal_files: tuple[str, ...]
    files: dict[str, FileMark]
    closed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TreeIndex:
    """The papers of one suite version."""

    suite: str
    papers: tuple[IndexedPaper, ...]


def dump_marks(files: dict[str, FileMark]) -> dict[str, list[Any]]:
    """Marks as JSON takes them; equal hashes are written once."""
    return {
        path: [mark.size, mark.exact] + ([] if mark.plain == mark.exact else [mark.plain])
        for path, mark in files.items()
    }


def load_marks(described: dict[str, list[Any]]) -> dict[str, FileMark]:
    """What :func:`dump_marks` wrote."""
    return {path: FileMark(size=mark[0], exact=mark[1], plain=mark[-1]) for path, mark in described.items()}
