"""Measure a task's masked repository by four numbers, the predictors of passing in the paper's Table 5."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Final, TypedDict

from benchmark_tasks.domain.content import ContentMissingError, tree_files
from benchmark_tasks.models import TaskRevision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmark_tasks.domain.content import Content

_ROOT: Final = PurePosixPath()


class RepositoryMetrics(TypedDict):
    """The four metrics. docs/analysis.md defines them, also where the paper's wording leaves a choice."""

    directory_depth: float
    branch_factor: float
    directory_imbalance: float
    goal_length: int


def repository_metrics(files: Mapping[str, Content], goal_file: str) -> RepositoryMetrics | None:
    """Compute the metrics of a repository with clean relative paths; None if it lacks the goal file. Raises OSError.

    Depth is the number of edges from the root, averaged over every file and folder below it. The branch factor is the
    mean number of subfolders of folders that have any (0 if none has). The paper names an imbalance but does not define
    it: here it is the standard deviation of the files' depths. The goal's length is the number of lines of the masked
    goal file that are neither empty nor a comment.
    """
    goal = files.get(goal_file)
    if goal is None:
        return None
    paths = [PurePosixPath(name) for name in files]
    folders = {parent for path in paths for parent in path.parents} - {_ROOT}
    subfolders: dict[PurePosixPath, int] = {}
    for folder in folders:
        subfolders[folder.parent] = subfolders.get(folder.parent, 0) + 1
    source = goal.read_bytes() if isinstance(goal, Path) else goal
    lines = (line.strip() for line in source.decode("utf-8", "replace").splitlines())
    return {
        "directory_depth": round(fmean(len(node.parts) for node in (*paths, *folders)), 6),
        "branch_factor": round(fmean(subfolders.values()), 6) if subfolders else 0.0,
        "directory_imbalance": round(pstdev(len(path.parts) for path in paths), 6),
        "goal_length": sum(bool(line) and not line.startswith("#") for line in lines),
    }


def store_missing_metrics() -> int:
    """Compute the metrics of revisions imported before metrics existed; return how many."""
    done = 0
    for revision in TaskRevision.objects.filter(repository_metrics={}).exclude(repository_hash=""):
        try:
            found = repository_metrics(tree_files(revision.repository_hash), revision.goal_file)
        except (ContentMissingError, OSError):
            continue
        if found:
            TaskRevision.objects.filter(pk=revision.pk).update(repository_metrics=found)
            done += 1
    return done
