"""A task's golden and masked definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.content import ContentMissingError, tree_path
from benchmark_tasks.domain.goals import FoundGoal, find_goal
from benchmark_tasks.domain.python_source import SourceError
from benchmark_tasks.domain.queries import goal_of

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import TaskRevision

UNREADABLE: Final = (ContentMissingError, SourceError, OSError)
"""What reading a definition raises where the task's files are gone, or do not hold the goal any more."""


def golden_definition(revision: TaskRevision) -> str:
    """The golden source of the goal, decorators included, indented as in its file. For code that no box sees.

    Raises what is :data:`UNREADABLE`.
    """
    return find_goal(golden_file(revision).read_bytes(), goal_of(revision)).text


def golden_file(revision: TaskRevision) -> Path:
    """Where the golden goal file lies."""
    return tree_path(revision.grading_hash) / "reference" / revision.goal_file


def masked_definition(revision: TaskRevision) -> FoundGoal:
    """The goal as it is masked, within its whole file. Raises what is :data:`UNREADABLE`."""
    return find_goal((tree_path(revision.repository_hash) / revision.goal_file).read_bytes(), goal_of(revision))
