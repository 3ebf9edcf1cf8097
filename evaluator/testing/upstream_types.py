"""What a task of the upstream protocol is made of. No Django here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_WALL_SECONDS = 600.0
DEFAULT_MEMORY_BYTES = 4096 * 1024 * 1024
WALL_PER_PROCESSOR_SECOND = 4


class Mode(StrEnum):
    """Where the goal function runs while its unit test does."""

    REMOTE = "remote"
    IN_PROCESS = "in_process"


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """How a task's answers are tested, and why so.

    In remote mode answers are held to what the reference did when the choice was made: ``copies_back`` says whether
    changes of arguments reach the test, ``returns`` what results may hold of ``upstream_results.REFUSED``.
    """

    mode: Mode
    why: str
    copies_back: bool = False
    returns: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class UpstreamTask:
    """Everything the evaluator needs of one revision of the upstream protocol.

    ``repository`` is the masked repository, ``reference_repository`` the same with the golden file in the goal file's
    place; both hold ``unit_test_file`` (a path in them, like ``goal_file``). ``repository_name`` is what upstream calls
    the repository's folder. Without ``cpu_seconds`` a box may compute all the time that it has.
    """

    name: str
    repository: Path
    reference_repository: Path
    repository_name: str
    unit_test_file: str
    goal_file: str
    goal_function: str
    class_name: str
    environment: str
    wall_seconds: float = DEFAULT_WALL_SECONDS
    memory_bytes: int = DEFAULT_MEMORY_BYTES
    cpu_seconds: float | None = None

    def limited(self, seconds: float) -> UpstreamTask:
        """The same with at most ``seconds`` of processor time; the wall's clock is generous, for busy machines."""
        wall = min(self.wall_seconds, WALL_PER_PROCESSOR_SECOND * seconds)
        return replace(self, cpu_seconds=seconds, wall_seconds=wall)
