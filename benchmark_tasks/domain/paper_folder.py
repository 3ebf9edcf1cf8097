"""What a paper's folder holds, once its files have been looked at. No Django here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmark_tasks.domain.info import PaperInfo, TaskInfo
    from benchmark_tasks.domain.overlays import Overlay


def is_pdf(path: Path) -> bool:
    """Whether a paper's file is a PDF; else it is JSON."""
    with path.open("rb") as file:
        return file.read(5) == b"%PDF-"


@dataclass(frozen=True, slots=True)
class GradingFiles:
    """The files of a sealed task that no candidate sees."""

    golden: bytes
    cases: bytes
    run: bytes


@dataclass(frozen=True, slots=True)
class UpstreamFiles:
    """What grades a task of the upstream protocol: the golden file, and the test's path in the repository."""

    golden: bytes
    unit_test_file: str


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """One task and the state of its files. ``reasons`` say why it is not runnable; without any it is.

    ``masked_source`` are the goal definition's lines as they stand in the masked repository (line ends as LF),
    ``masked_line`` is the number of the first; ``grading`` is None where a file is missing or unusable.
    ``unit_test_file`` is the path of upstream's test in the repository, empty for a sealed task of its authors'. With
    an ``overlay`` it stands beside our probe, and ``upstream_reasons`` say why it cannot run.
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
    """One paper's folder. ``repository_files`` names what is imported of the masked repository below ``repository``.

    ``cut_files`` holds those of them that are imported without some of their lines.
    ``paper_file`` is the publication itself (PDF, or upstream's JSON) and None where there is none; ``dockerfile``
    says how its environment is built.
    """

    info: PaperInfo
    path: Path
    repository: Path | None
    repository_files: tuple[str, ...]
    cut_files: Mapping[str, bytes]
    paper_file: Path | None
    dockerfile: Path | None
    tasks: tuple[TaskFolder, ...]
