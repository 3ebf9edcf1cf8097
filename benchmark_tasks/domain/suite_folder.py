"""What a suite folder holds, once read: papers, tasks, and what is wrong with them. No Django here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.domain.problems import ImportProblem

ProtocolName = Literal["sealed", "upstream"]
CategorySourceName = Literal["upstream", "ours", "none"]


@dataclass(frozen=True, slots=True)
class CheckInfo:
    """``check`` of one task: where the cases are, and the settings with every default written out."""

    cases_file: str
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What info.json says of one masked function. Texts that it leaves out are empty.

    ``category`` is one of the nine slugs or empty. ``class_name`` is empty for a module-level function, equal to
    ``goal_function`` where the whole class is masked. Paths are clean and relative: goal file and retrieval context
    to the repository, the others to the paper's folder. ``refused_keys`` were given, but could not be used.
    """

    slug: str
    index: int
    line: int
    instruction: str
    category: str
    category_source: CategorySourceName
    goal_file: str
    goal_function: str
    class_name: str
    golden_file: str
    retrieval_context: tuple[str, ...]
    unit_test_file: str
    protocol: ProtocolName
    environment: str
    check: CheckInfo | None
    refused_keys: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PaperInfo:
    """What info.json says of a paper. ``slug`` comes from the folder's real name, not from what the file claims."""

    slug: str
    folder_name: str
    instance_id: str
    title: str
    address: str
    year: int | None
    repository_address: str
    repository_folder: str
    tasks: tuple[TaskInfo, ...]
    refused_keys: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GradingFiles:
    """The files of a sealed task that no candidate sees, as they were read."""

    golden: bytes
    cases: bytes
    run: bytes


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """One task and the state of its files. ``reasons`` say why it is not runnable; without any it is.

    ``masked_source`` are the goal definition's lines as they stand in the masked repository (line ends as LF),
    ``masked_line`` is the number of the first; ``grading`` is None where a file is missing or unusable.
    """

    info: TaskInfo
    reasons: tuple[str, ...] = ()
    masked_source: str = ""
    masked_line: int = 0
    grading: GradingFiles | None = None


@dataclass(frozen=True, slots=True)
class PaperFolder:
    """One paper's folder. ``repository_files`` names what is imported of the masked repository below ``repository``.

    ``paper_file`` holds the publication itself (PDF, or upstream's JSON) and is None where there is none.
    """

    info: PaperInfo
    path: Path
    repository: Path | None
    repository_files: tuple[str, ...]
    paper_file: bytes | None
    tasks: tuple[TaskFolder, ...]


@dataclass(slots=True)
class SuiteFolder:
    """A whole suite folder, and every problem found in it in the order of its files."""

    path: Path
    title: str = ""
    description: str = ""
    licence: str = ""
    source: str = ""
    changelog: tuple[str, ...] = ()
    papers: list[PaperFolder] = field(default_factory=list)
    problems: list[ImportProblem] = field(default_factory=list)

    @property
    def refused(self) -> bool:
        """Whether an error of form forbids importing any of it."""
        return any(problem.fatal for problem in self.problems)
