"""Import a suite folder: read all of it, then store every paper that can be read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.text import slugify

from benchmark_tasks.domain.content import file_hash, put_file, put_tree, tree_files, tree_hash
from benchmark_tasks.domain.facts_suite import (
    FACTS_DESCRIPTION,
    FACTS_SUITE,
    IMPORTED_DESCRIPTION,
    ensure_categories,
    facts_papers,
    load_facts,
)
from benchmark_tasks.domain.paper_folder import UpstreamFiles
from benchmark_tasks.domain.problems import ImportProblem, ImportRefusedError
from benchmark_tasks.domain.queries import current_version, revisions_of
from benchmark_tasks.domain.repository_metrics import repository_metrics
from benchmark_tasks.domain.revisions import store_papers
from benchmark_tasks.models import Category, Paper, Suite, Task, TaskRevision
from benchmark_tasks.signals import paper_found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from benchmark_tasks.domain.content import Content
    from benchmark_tasks.domain.paper_folder import GradingFiles, PaperFolder, TaskFolder
    from benchmark_tasks.domain.revisions import NewPaper, SuiteChanges
    from benchmark_tasks.domain.suite_folder import SuiteFolder
    from benchmark_tasks.models import SuiteVersion


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Result of an import, or of a dry run. ``version`` is None if nothing changed.

    ``not_runnable`` maps task slugs to reasons. ``left_out`` are the folders of papers with format errors; the suite
    keeps the earlier tasks of these papers.
    """

    suite: Suite
    version: SuiteVersion | None
    created: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    not_runnable: dict[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    problems: tuple[ImportProblem, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The slugs of the suite's current tasks, in alphabetical order."""
        return tuple(sorted({*self.created, *self.changed, *self.unchanged}, key=_in_order))


def import_suite(
    *,
    folder: Path,
    slug: str,
    title: str = "",
    actor: Any = None,
    strict: bool = False,
    dry_run: bool = False,
    with_overlays: bool = True,
    read_papers: bool = False,
) -> ImportReport:
    """Import a suite folder as the suite ``slug``, which is created if missing; same content changes nothing.

    The overlays shipped for the suite are applied unless ``with_overlays`` is false. Tasks with missing or unusable
    files are stored as not runnable, papers with format errors are left out. ``actor`` is passed to the
    ``suite_imported`` signal; a dry run stores nothing. ``read_papers`` reads every paper, some seconds each, and adds
    a problem for each that models cannot read.

    Raises ImportRefusedError with every problem for errors that concern the whole folder (see SuiteFolder.refused), and
    with ``strict`` for any format error.
    """
    # Imported here: pages import this module for what is shipped, and do not need pydantic.
    from benchmark_tasks.domain.overlays import NO_OVERLAYS, Overlays
    from benchmark_tasks.domain.suite_folder import read_suite, suite_root

    read = read_suite(suite_root(folder), Overlays.of(slug) if with_overlays else NO_OVERLAYS)
    if slugify(slug) != slug or not 1 <= len(slug) <= 50:
        message = "is not a slug: use up to 50 lower-case letters, digits and '-'"
        read.problems.insert(0, ImportProblem(slug, message, whole=True))
    if len(title) > 120:
        read.problems.insert(0, ImportProblem("--title", "is longer than 120 characters", whole=True))
    _refuse_errors(read, strict=strict)
    # Files first: if the transaction fails, the store merely holds content that no row refers to.
    papers = _stored(read, _ContentWriter(dry_run=dry_run))
    _refuse_errors(read, strict=strict)
    if read_papers:
        read.problems.extend(_unreadable(read, dry_run=dry_run))
    with transaction.atomic():
        ensure_categories()
        if slug == FACTS_SUITE:
            load_facts(actor=actor)
        suite = _store_suite(slug, title, read)
        kept = _kept_papers(suite, read)
        if slug == FACTS_SUITE:
            papers += facts_papers(without={paper.slug for paper, _ in papers} | kept)
        changes = store_papers(suite=suite, papers=papers, kept=kept, news=_news(suite, read), actor=actor)
        report = _report(suite, changes, read)
        transaction.set_rollback(dry_run)
    return report


def _refuse_errors(read: SuiteFolder, *, strict: bool) -> None:
    if read.refused or (strict and read.has_errors):
        raise ImportRefusedError(read.problems)


def _stored(read: SuiteFolder, writer: _ContentWriter) -> list[NewPaper]:
    """Store the files of all papers and return their rows; a paper whose files cannot be read is left out."""
    found = []
    for paper in tuple(read.papers):
        try:
            found.append(_paper_content(paper, writer))
        except OSError as error:
            folder = paper.info.folder_name
            where = _inside(error.filename, paper.path, folder)
            read.problems.append(ImportProblem(where, f"cannot be imported ({error.strerror})"))
            read.left_out[paper.info.slug] = folder
            read.papers.remove(paper)
    return found


def _unreadable(read: SuiteFolder, *, dry_run: bool) -> Iterator[ImportProblem]:
    """Yield a problem for each paper whose file models and judges cannot read."""
    for paper in read.papers:
        if paper.paper_file is None:
            continue
        content_hash = "" if dry_run else file_hash(paper.paper_file)
        for _, why in paper_found.send(sender=ImportReport, file=paper.paper_file, content_hash=content_hash):
            if why:
                where = f"{paper.info.folder_name}/{paper.paper_file.relative_to(paper.path)}"
                yield ImportProblem(where, f"{why} Models and judges do not get it.", fatal=False)


def _inside(filename: object, folder: Path, shown: str) -> str:
    """Return the path of the file that an error names, relative to the suite's folder."""
    name, prefix = str(filename), f"{folder}/"
    return f"{shown}/{name.removeprefix(prefix)}" if name.startswith(prefix) else shown


def _kept_papers(suite: Suite, read: SuiteFolder) -> set[str]:
    """Return the slugs of left-out papers that the suite already has: a mistake in a file removes no task."""
    current = current_version(suite)
    known = Paper.objects.filter(suite=suite, slug__in=read.left_out, tasks__revisions__suite_versions=current)
    return set(known.values_list("slug", flat=True)) if current else set()


def _in_order(slug: str) -> tuple[str, int]:
    paper, _, index = slug.rpartition("/")
    return paper, int(index)


def _store_suite(slug: str, title: str, read: SuiteFolder) -> Suite:
    suite, _ = Suite.objects.get_or_create(slug=slug, defaults={"title": title or read.info.title or slug})
    suite.title = title or (suite.title if suite.title != slug else read.info.title or slug)
    before = IMPORTED_DESCRIPTION if suite.description == FACTS_DESCRIPTION else suite.description
    suite.description = read.info.description or before
    suite.licence = read.info.licence or suite.licence
    suite.source = read.info.source or suite.source
    suite.save()
    return suite


def _news(suite: Suite, read: SuiteFolder) -> str:
    """Return the author's newest changelog line, unless the current version shows it already."""
    newest = read.info.changelog[-1] if read.info.changelog else ""
    current = current_version(suite)
    return "" if current is not None and newest in current.changes else newest


def _report(suite: Suite, changes: SuiteChanges, read: SuiteFolder) -> ImportReport:
    current = changes.version or current_version(suite)
    revisions = revisions_of(current) if current else []
    return ImportReport(
        suite=suite,
        version=changes.version,
        created=changes.created,
        changed=changes.changed,
        unchanged=changes.unchanged,
        removed=changes.removed,
        not_runnable={r.task.slug: tuple(r.not_runnable_reasons) for r in revisions if r.not_runnable_reasons},
        left_out=tuple(read.left_out.values()),
        problems=tuple(read.problems),
    )


@dataclass(frozen=True, slots=True)
class _ContentWriter:
    """Writes files to the content store and returns their hashes; in a dry run it only computes the hashes."""

    dry_run: bool = False

    def tree(self, files: Mapping[str, Content]) -> str:
        """Store a folder and return its hash. Raises OSError."""
        return tree_hash(files) if self.dry_run else put_tree(files)

    def file(self, content: Content | None) -> str:
        """Store a file and return its hash, empty without a file. Raises OSError."""
        if content is None:
            return ""
        return file_hash(content) if self.dry_run else put_file(content)

    def kept(self, tree: str, files: Mapping[str, Content]) -> Mapping[str, Content]:
        """Return a stored folder's files in the content store: they cannot change there and can be linked."""
        return files if self.dry_run else dict(tree_files(tree))


def _paper_content(paper: PaperFolder, writer: _ContentWriter) -> NewPaper:
    """Store a paper's files and return its rows, unsaved. Raises OSError if a file cannot be read or stored."""
    repository: Mapping[str, Content] = {}
    if paper.repository is not None:
        repository = {**{name: paper.repository / name for name in paper.repository_files}, **paper.cut_files}
    hashes = {
        "repository_hash": writer.tree(repository) if repository else "",
        "paper_hash": writer.file(paper.paper_file),
        "dockerfile_hash": writer.file(paper.dockerfile),
    }
    if repository:
        repository = writer.kept(hashes["repository_hash"], repository)
    info = paper.info
    row = Paper(
        slug=info.slug,
        instance_id=info.instance_id,
        folder_name=info.folder_name,
        title=info.paper_name,
        address=info.paper_url,
        year=info.year,
        repository_address=info.repo_url,
        repository_folder=info.repo_folder_name,
    )
    return row, [_task_content(task, repository, hashes, writer) for task in paper.tasks]


def _grading_tree(
    repository: Mapping[str, Content], goal_file: str, grading: GradingFiles | UpstreamFiles, settings: dict[str, Any]
) -> dict[str, Content]:
    """Assemble the files that grading needs, as the content store holds them.

    ``reference/`` is the masked repository with the golden file in place of the goal file. ``check.json`` beside it
    makes a changed comparison, limit or test change the hash as well. A sealed task also has ``cases.py`` and
    ``run.py``; an upstream task's test is part of the repository.
    """
    reference = {**repository, goal_file: grading.golden}
    tree: dict[str, Content] = {f"reference/{name}": content for name, content in reference.items()}
    if isinstance(grading, UpstreamFiles):
        settings = {"protocol": "upstream", "unit_test": grading.unit_test_file}
    else:
        tree |= {"cases.py": grading.cases, "run.py": grading.run}
    return tree | {"check.json": json.dumps(settings, sort_keys=True).encode()}


def _task_content(
    task: TaskFolder, repository: Mapping[str, Content], hashes: dict[str, str], writer: _ContentWriter
) -> TaskRevision:
    info = task.info
    settings = info.check.settings if info.check else {}
    grading_hash = ""
    if task.grading is not None:
        grading_hash = writer.tree(_grading_tree(repository, info.goal_file, task.grading, settings))
    return TaskRevision(
        task=Task(index=info.index),
        category=Category(slug=info.category) if info.category else None,
        category_source=info.category_source,
        instruction=info.instruction,
        goal_file=info.goal_file,
        goal_function=info.goal_function,
        class_name=info.class_name,
        retrieval_context=info.context,
        protocol=info.protocol,
        environment=info.environment,
        check_settings=settings,
        unit_test_file=task.unit_test_file,
        equivalent_mutants=[mutant.model_dump() for mutant in info.mutants],
        overlay=task.overlay.as_data(task.upstream_reasons) if task.overlay else {},
        masked_source=task.masked_source,
        masked_line=task.masked_line,
        grading_hash=grading_hash,
        not_runnable_reasons=list(task.reasons),
        repository_metrics=repository_metrics(repository, info.goal_file) or {},
        **hashes,
    )
