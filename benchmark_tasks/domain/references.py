"""A task's golden and masked definitions, and whether an answer is the golden one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from benchmark_tasks.domain.content import tree_path
from benchmark_tasks.domain.goals import FoundGoal, find_goal
from benchmark_tasks.domain.python_source import SourceError, parse_source, same_code, without_docstrings
from benchmark_tasks.domain.queries import goal_of

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision


def golden_definition(revision: TaskRevision) -> str:
    """The golden source of the goal, decorators included, indented as in its file. For code that no box sees."""
    reference = tree_path(revision.grading_hash) / "reference" / revision.goal_file
    return find_goal(reference.read_bytes(), goal_of(revision)).text


def masked_definition(revision: TaskRevision) -> FoundGoal:
    """The goal as it is masked, within its whole file. Raises ``ContentMissingError``, ``OSError``, ``SourceError``."""
    return find_goal((tree_path(revision.repository_hash) / revision.goal_file).read_bytes(), goal_of(revision))


def same_definition(one: str, other: str) -> bool:
    """Whether two definitions have the same syntax tree but for docstrings; false where one of them does not parse."""
    try:
        return same_code(_tree(one), _tree(other))
    except SourceError:
        return False


def _tree(definition: str) -> ast.Module:
    # A method keeps its class's indentation: a string in it may hold less, so it cannot be dedented.
    indented = definition[:1] in (" ", "\t")
    tree = parse_source(f"class _:\n{definition}" if indented else definition)
    if indented and len(tree.body) == 1 and isinstance(tree.body[0], ast.ClassDef):
        tree.body = tree.body[0].body
    return without_docstrings(tree)
