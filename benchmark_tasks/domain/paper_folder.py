"""Types for a paper's folder whose files have been checked. No Django here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmark_tasks.domain.info import PaperInfo, TaskInfo
    from benchmark_tasks.domain.overlays import Overlay


def is_pdf(path: Path) -> bool:
    """Return whether a paper's file is a PDF; otherwise it is JSON."""
    with path.open("rb") as file:
        return file.read(5) == b"%PDF-"


@dataclass(frozen=True, slots=True)
class GradingFiles:
    """The files that grade a sealed task; no candidate sees them."""

    golden: bytes
    cases: bytes
    run: bytes


@dataclass(frozen=True, slots=True)
class UpstreamFiles:
    """The files that grade a task of the upstream protocol: the golden file, and the test's path in the repository."""

    golden: bytes
    unit_test_file: str


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """One task and the state of its files. It is runnable unless there are ``reasons`` why not.

    ``masked_source`` are the goal definition's lines in the masked repository (line ends as LF), ``masked_line`` is the
    number of the first; ``grading`` is None if a file is missing or unusable. ``unit_test_file`` is the path of
    upstream's test in the repository, empty for a task that its authors sealed. With an ``overlay`` that test is kept
    in addition to our probe, and ``upstream_reasons`` are the reasons why it cannot run.
    """

    info: TaskInfo
    reasons: tuple[str, ...] = ()
    masked_source: str = ""
    masked_line: int = 0
    grading: GradingFiles | UpstreamFiles | None = None
    unit_test_file: str = ""
    overlay: Overlay | None = None
    upstream_reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PaperFolder:
    """One paper's folder. ``repository_files`` are the files to import from the masked repository ``repository``.

    ``cut_files`` are those of them that are imported without some of their lines, with their shortened content.
    ``paper_file`` is the publication itself (PDF, or upstream's JSON), None if there is none; ``dockerfile`` builds its
    environment.
    """

    info: PaperInfo
    path: Path
    repository: Path | None
    repository_files: tuple[str, ...]
    cut_files: Mapping[str, bytes]
    paper_file: Path | None
    dockerfile: Path | None
    tasks: tuple[TaskFolder, ...]
