"""From a paper's folder to what its revisions fix: the files go into the content store, their hashes into the rows."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from benchmark_tasks.domain.content import file_hash, put_file, put_tree, tree_files, tree_hash
from benchmark_tasks.domain.revisions import PaperContent, TaskContent
from benchmark_tasks.domain.suite_folder import UpstreamFiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmark_tasks.domain.content import Content
    from benchmark_tasks.domain.suite_folder import GradingFiles, PaperFolder, TaskFolder


@dataclass(frozen=True, slots=True)
class Keeper:
    """Puts files into the content store; in a dry run it only says under which hash."""

    dry_run: bool = False

    def tree(self, files: Mapping[str, Content]) -> str:
        """The hash of a folder. Raises OSError."""
        return tree_hash(files) if self.dry_run else put_tree(files)

    def file(self, content: Content | None) -> str:
        """The hash of a file, empty without one. Raises OSError."""
        if content is None:
            return ""
        return file_hash(content) if self.dry_run else put_file(content)

    def kept(self, tree: str, files: Mapping[str, Content]) -> Mapping[str, Content]:
        """The files of a folder that was kept, from where they cannot change and take no second room."""
        return files if self.dry_run else dict(tree_files(tree))


def paper_content(paper: PaperFolder, keeper: Keeper) -> PaperContent:
    """Everything that is stored of a paper. Raises OSError where a file cannot be read or kept."""
    repository: Mapping[str, Content] = {}
    if paper.repository is not None:
        repository = {name: paper.repository / name for name in paper.repository_files}
    hashes = {
        "repository_hash": keeper.tree(repository) if repository else "",
        "paper_hash": keeper.file(paper.paper_file),
        "dockerfile_hash": keeper.file(paper.dockerfile),
    }
    if repository:
        repository = keeper.kept(hashes["repository_hash"], repository)
    info = paper.info
    return PaperContent(
        slug=info.slug,
        instance_id=info.instance_id,
        folder_name=info.folder_name,
        title=info.title,
        address=info.address,
        year=info.year,
        repository_address=info.repository_address,
        repository_folder=info.repository_folder,
        tasks=tuple(_task_content(task, repository, hashes, keeper) for task in paper.tasks),
    )


def grading_tree(
    repository: Mapping[str, Content], goal_file: str, grading: GradingFiles | UpstreamFiles, settings: dict[str, Any]
) -> dict[str, Content]:
    """What grading needs, as it lies in the content store.

    ``reference/`` is the masked repository with the golden file in the goal file's place; beside it is ``check.json``,
    so that a changed comparison, limit or test changes the hash as well. A sealed task has ``cases.py`` and ``run.py``
    too; an upstream task's test is part of the repository.
    """
    reference = {**repository, goal_file: grading.golden}
    tree: dict[str, Content] = {f"reference/{name}": content for name, content in reference.items()}
    if isinstance(grading, UpstreamFiles):
        settings = {"protocol": "upstream", "unit_test": grading.unit_test_file}
    else:
        tree |= {"cases.py": grading.cases, "run.py": grading.run}
    return tree | {"check.json": json.dumps(settings, sort_keys=True).encode()}


def _task_content(
    task: TaskFolder, repository: Mapping[str, Content], hashes: dict[str, str], keeper: Keeper
) -> TaskContent:
    info = task.info
    settings = info.check.settings if info.check else {}
    grading_hash = ""
    if task.grading is not None:
        grading_hash = keeper.tree(grading_tree(repository, info.goal_file, task.grading, settings))
    return TaskContent(
        index=info.index,
        goal_file=info.goal_file,
        goal_function=info.goal_function,
        class_name=info.class_name,
        category=info.category,
        category_source=info.category_source,
        instruction=info.instruction,
        retrieval_context=info.retrieval_context,
        protocol=info.protocol,
        environment=info.environment,
        check_settings=settings,
        unit_test_file=task.unit_test_file,
        equivalent_mutants=tuple(asdict(mutant) for mutant in info.equivalent_mutants),
        masked_source=task.masked_source,
        masked_line=task.masked_line,
        grading_hash=grading_hash,
        not_runnable_reasons=task.reasons,
        **hashes,
    )
