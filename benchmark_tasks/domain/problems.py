"""Problems of a suite folder, worded for its author. No Django here."""

from __future__ import annotations

from dataclasses import dataclass

from benchmark_tasks.domain.folders import LFS_ADVICE
from benchmark_tasks.domain.upstream_tests import MISSING_DATA, MORE_DATA


def general_reason(reason: str) -> str:
    """Return ``reason`` without file names if hundreds of files may have it, so that it can be reported once."""
    if LFS_ADVICE in reason or reason.endswith(MORE_DATA):
        return "files are Git LFS pointers; fetch them with 'git lfs pull' and import again"
    return "files that the unit test reads are missing" if reason.endswith(MISSING_DATA) else reason


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """One problem: the file (relative to the suite folder), the error and its correction, and the position if known.

    A ``fatal`` problem leaves its paper out, or refuses the import if ``whole`` is set. Any other makes a task not
    runnable, or is a remark. ``task`` is set if the problem is the reason why that task is not runnable.
    """

    file: str
    message: str
    line: int | None = None
    column: int | None = None
    fatal: bool = True
    whole: bool = False
    task: str = ""

    def __str__(self) -> str:
        """Format as compilers do: ``file:line:column: message``."""
        place = "".join(f":{number}" for number in (self.line, self.column) if number is not None)
        return f"{self.file}{place}: {self.message}"


class ImportRefusedError(Exception):
    """Raised for a folder that cannot be imported; nothing was imported. Holds every problem found, fatal or not."""

    def __init__(self, problems: list[ImportProblem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems if problem.fatal))
        self.problems = problems
