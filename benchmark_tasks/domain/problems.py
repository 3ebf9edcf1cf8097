"""What is wrong with a suite folder, in the words that its author reads. No Django here."""

from __future__ import annotations

from dataclasses import dataclass

from benchmark_tasks.domain.folders import LFS_ADVICE
from benchmark_tasks.domain.upstream_tests import MISSING_DATA, MORE_DATA


def general(reason: str) -> str:
    """``reason`` without the names of single files where there may be hundreds, so that it is said once for all."""
    if LFS_ADVICE in reason or reason.endswith(MORE_DATA):
        return "files are Git LFS pointers; fetch them with 'git lfs pull' and import again"
    return "files that the unit test reads are missing" if reason.endswith(MISSING_DATA) else reason


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """One problem: the file (relative to the suite folder), what is wrong and what to do, and where if known.

    A ``fatal`` one leaves its paper out, or refuses the import where ``whole`` says so; any other leaves a task not
    runnable, or is a remark. ``task`` is set where it is the reason why that task is not runnable.
    """

    file: str
    message: str
    line: int | None = None
    column: int | None = None
    fatal: bool = True
    whole: bool = False
    task: str = ""

    def __str__(self) -> str:
        """As compilers print it: ``file:line:column: message``."""
        place = "".join(f":{number}" for number in (self.line, self.column) if number is not None)
        return f"{self.file}{place}: {self.message}"


class ImportRefusedError(Exception):
    """The folder cannot be imported; nothing was. Carries every problem found, fatal or not."""

    def __init__(self, problems: list[ImportProblem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems if problem.fatal))
        self.problems = problems
