"""Importing a suite folder: read it whole, refuse it whole or store it whole."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.text import slugify

from benchmark_tasks.domain.categories import ensure_categories
from benchmark_tasks.domain.content import put_file, put_tree
from benchmark_tasks.domain.folders import UnusableFileError, is_lfs_pointer, read_files
from benchmark_tasks.domain.info import read_suite
from benchmark_tasks.domain.problems import ImportProblem, ImportRefusedError
from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.domain.revisions import PaperContent, SuiteChanges, TaskContent, store_papers
from benchmark_tasks.models import Suite, SuiteVersion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmark_tasks.domain.suite_folder import GradingFiles, PaperFolder, SuiteFolder, TaskFolder


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. ``version`` is None when nothing changed; ``not_runnable`` maps task slugs to reasons."""

    suite: Suite
    version: SuiteVersion | None
    created: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    not_runnable: dict[str, tuple[str, ...]]
    problems: tuple[ImportProblem, ...]


def import_suite(*, folder: Path, slug: str, title: str = "", actor: Any = None) -> ImportReport:
    """Import a whole suite folder as the suite ``slug``, made if there is none; same content changes nothing.

    Tasks with missing or unusable files are stored as not runnable. ``actor`` is handed to the ``suite_imported``
    signal. Raises ImportRefusedError with every problem when the folder has errors of form; then nothing is stored.
    """
    read = read_suite(folder)
    if slugify(slug) != slug or not 1 <= len(slug) <= 50:
        read.problems.insert(0, ImportProblem(slug, "is not a slug: use up to 50 lower-case letters, digits and '-'"))
    if len(title) > 120:
        read.problems.insert(0, ImportProblem("--title", "is longer than 120 characters"))
    if read.refused:
        raise ImportRefusedError(read.problems)
    # Files first: should the transaction fail, the store merely holds content that no row names.
    papers = [_paper_content(paper, read) for paper in read.papers]
    with transaction.atomic():
        ensure_categories()
        suite = _store_suite(slug, title, read)
        changes = store_papers(suite=suite, papers=papers, news=_news(suite, read), actor=actor)
    return _report(suite, changes, read, papers)


def grading_tree(
    repository: Mapping[str, bytes], goal_file: str, grading: GradingFiles, check: str
) -> dict[str, bytes]:
    """What grading needs, as it lies in the content store.

    ``reference/`` is the masked repository with the golden file in the goal file's place; beside it ``cases.py``,
    ``run.py``, and ``check.json`` so that a changed comparison or limit changes the hash as well.
    """
    reference = {**repository, goal_file: grading.golden}
    tree = {f"reference/{name}": data for name, data in reference.items()}
    return tree | {"cases.py": grading.cases, "run.py": grading.run, "check.json": check.encode()}


def _paper_content(paper: PaperFolder, read: SuiteFolder) -> PaperContent:
    files: dict[str, bytes] = {}
    if paper.repository is not None:
        try:
            files = read_files(paper.repository, list(paper.repository_files))
        except UnusableFileError as error:
            folder = f"{paper.info.folder_name}/{paper.info.repository_folder}"
            raise ImportRefusedError([*read.problems, ImportProblem(folder, str(error))]) from error
        _remark_pointers(paper, files, read)
    repository_hash = put_tree(files) if files else ""
    paper_hash = put_file(paper.paper_file) if paper.paper_file is not None else ""
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
        tasks=tuple(_task_content(task, files, repository_hash, paper_hash) for task in paper.tasks),
    )


def _task_content(task: TaskFolder, files: dict[str, bytes], repository_hash: str, paper_hash: str) -> TaskContent:
    info = task.info
    settings = info.check.settings if info.check else {}
    grading_hash = ""
    if task.grading is not None:
        check = json.dumps(settings, sort_keys=True)
        grading_hash = put_tree(grading_tree(files, info.goal_file, task.grading, check))
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
        masked_source=task.masked_source,
        masked_line=task.masked_line,
        repository_hash=repository_hash,
        grading_hash=grading_hash,
        paper_hash=paper_hash,
        not_runnable_reasons=task.reasons,
    )


def _remark_pointers(paper: PaperFolder, files: dict[str, bytes], read: SuiteFolder) -> None:
    for name, data in files.items():
        if is_lfs_pointer(data):
            file = f"{paper.info.folder_name}/{paper.info.repository_folder}/{name}"
            message = "is only a Git LFS pointer; fetch the file with 'git lfs pull' if the task needs it"
            read.problems.append(ImportProblem(file, message, fatal=False))


def _store_suite(slug: str, title: str, read: SuiteFolder) -> Suite:
    suite, _ = Suite.objects.get_or_create(slug=slug, defaults={"title": title or read.title or slug})
    suite.title = title or (suite.title if suite.title != slug else read.title or slug)
    suite.description = read.description or suite.description
    suite.licence = read.licence or suite.licence
    suite.source = read.source or suite.source
    suite.save()
    return suite


def _news(suite: Suite, read: SuiteFolder) -> str:
    """The author's newest changelog line, unless an earlier version has told it already."""
    newest = read.changelog[-1] if read.changelog else ""
    current = current_version(suite)
    return "" if current is not None and newest in current.changes else newest


def _report(suite: Suite, changes: SuiteChanges, read: SuiteFolder, papers: list[PaperContent]) -> ImportReport:
    return ImportReport(
        suite=suite,
        version=changes.version,
        created=changes.created,
        changed=changes.changed,
        unchanged=changes.unchanged,
        removed=changes.removed,
        not_runnable={
            f"{paper.slug}/{task.index}": task.not_runnable_reasons
            for paper in papers
            for task in paper.tasks
            if task.not_runnable_reasons
        },
        problems=tuple(read.problems),
    )
