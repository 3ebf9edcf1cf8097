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
class EquivalentMutant:
    """A change of the golden function, as the audit writes it, and why nobody could tell it from the original."""

    mutant: str
    reason: str


@dataclass(frozen=True, slots=True)
class CheckInfo:
    """``check`` of one task: where the cases are, and the settings with every default written out."""

    cases_file: str
    settings: dict[str, Any]
    equivalent_mutants: tuple[EquivalentMutant, ...] = ()


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
    equivalent_mutants: tuple[EquivalentMutant, ...] = ()
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
class UpstreamFiles:
    """What grades a task of the upstream protocol: the golden file, and the test's path in the repository."""

    golden: bytes
    unit_test_file: str


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """One task and the state of its files. ``reasons`` say why it is not runnable; without any it is.

    ``masked_source`` are the goal definition's lines as they stand in the masked repository (line ends as LF),
    ``masked_line`` is the number of the first; ``grading`` is None where a file is missing or unusable.
    ``unit_test_file`` is set under the upstream protocol alone: the test's path in the repository.
    """

    info: TaskInfo
    reasons: tuple[str, ...] = ()
    masked_source: str = ""
    masked_line: int = 0
    grading: GradingFiles | UpstreamFiles | None = None
    unit_test_file: str = ""


@dataclass(frozen=True, slots=True)
class PaperFolder:
    """One paper's folder. ``repository_files`` names what is imported of the masked repository below ``repository``.

    ``paper_file`` is the publication itself (PDF, or upstream's JSON) and None where there is none; ``dockerfile``
    says how its environment is built.
    """

    info: PaperInfo
    path: Path
    repository: Path | None
    repository_files: tuple[str, ...]
    paper_file: Path | None
    dockerfile: Path | None
    tasks: tuple[TaskFolder, ...]


@dataclass(slots=True)
class SuiteFolder:
    """A whole suite folder, and every problem found in it in the order of its files.

    ``left_out`` maps the slugs of papers that have errors of form to their folders.
    """

    path: Path
    title: str = ""
    description: str = ""
    licence: str = ""
    source: str = ""
    changelog: tuple[str, ...] = ()
    papers: list[PaperFolder] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    problems: list[ImportProblem] = field(default_factory=list)

    @property
    def faulty(self) -> bool:
        """Whether there is any error of form."""
        return any(problem.fatal for problem in self.problems)

    @property
    def refused(self) -> bool:
        """Whether nothing of it can be imported: an error concerns all of it, or leaves no paper."""
        return any(problem.whole for problem in self.problems) or (self.faulty and not self.papers)
