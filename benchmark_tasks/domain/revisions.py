"""Turning task contents into revisions, and revisions into a suite version. Same content, same revision."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction
from django.db.models import Max

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.enums import CategorySource, Protocol
from benchmark_tasks.models import Category, Paper, SeedEpoch, Suite, SuiteVersion, Task, TaskRevision
from benchmark_tasks.signals import suite_imported

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

_OWN_FIELDS: Final = frozenset({"index", "category", "equivalent_mutants"})


@dataclass(frozen=True, slots=True)
class TaskContent:
    """Everything of one task that a revision fixes; field names are TaskRevision's. ``category`` is a slug or empty."""

    index: int
    goal_file: str
    goal_function: str
    class_name: str
    category: str
    category_source: str = CategorySource.NONE
    instruction: str = ""
    retrieval_context: tuple[str, ...] = ()
    protocol: str = Protocol.NONE
    environment: str = ""
    check_settings: dict[str, Any] = field(default_factory=dict)
    unit_test_file: str = ""
    equivalent_mutants: tuple[dict[str, str], ...] = ()
    masked_source: str = ""
    masked_line: int = 0
    repository_hash: str = ""
    grading_hash: str = ""
    paper_hash: str = ""
    dockerfile_hash: str = ""
    not_runnable_reasons: tuple[str, ...] = ()

    @property
    def statement_hash(self) -> str:
        """SHA-256 of what a system is told: instruction, goal, context and publication."""
        told = [
            self.instruction,
            self.goal_file,
            self.goal_function,
            self.class_name,
            list(self.retrieval_context),
            self.paper_hash,
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PaperContent:
    """A paper's own data, and its tasks."""

    slug: str
    instance_id: str
    folder_name: str
    title: str
    address: str
    year: int | None
    repository_address: str
    repository_folder: str
    tasks: tuple[TaskContent, ...]


@dataclass(frozen=True, slots=True)
class SuiteChanges:
    """What storing a suite's content did, as task slugs; ``version`` is None if nothing changed."""

    version: SuiteVersion | None
    created: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


def store_papers(
    *,
    suite: Suite,
    papers: Sequence[PaperContent],
    kept: Collection[str] = (),
    news: str = "",
    actor: Any = None,
) -> SuiteChanges:
    """Give ``suite`` exactly these papers and tasks, and a new version if any task's content is not the current one's.

    Papers with the slugs ``kept`` stay as they are in the current version. ``news`` is the maintainers' own remark on
    the version. Sends ``suite_imported`` after commit for a new version.
    """
    with transaction.atomic():
        # Two imports at once would number revisions and versions alike.
        suite = Suite.objects.select_for_update().get(pk=suite.pk)
        categories = {category.slug: category for category in Category.objects.all()}
        current = current_version(suite)
        before = {r.task_id: r.pk for r in TaskRevision.objects.filter(suite_versions=current)} if current else {}
        known = set(Task.objects.filter(suite=suite).values_list("slug", flat=True))
        revisions = [
            _store_task(stored, task, categories)
            for stored, paper in [(_store_paper(suite, paper), paper) for paper in papers]
            for task in paper.tasks
        ]
        if current and kept:
            revisions += current.revisions.filter(task__paper__slug__in=kept).select_related("task")
        version = None
        changes = _compare(suite, revisions, before, known)
        if current is None or {r.pk for r in revisions} != set(before.values()):
            version = _new_version(suite, current, revisions, "\n".join(filter(None, [news, _summary(changes)])))
            transaction.on_commit(
                partial(suite_imported.send_robust, sender=SuiteVersion, suite_version=version, actor=actor)
            )
        return SuiteChanges(version, **changes)


def _store_paper(suite: Suite, content: PaperContent) -> Paper:
    data = {name: value for name, value in asdict(content).items() if name not in {"slug", "tasks"}}
    return Paper.objects.update_or_create(suite=suite, slug=content.slug, defaults=data)[0]


def _store_task(paper: Paper, content: TaskContent, categories: dict[str, Category]) -> TaskRevision:
    slug = f"{paper.slug}/{content.index}"
    task, _ = Task.objects.update_or_create(
        suite=paper.suite, slug=slug, defaults={"paper": paper, "index": content.index}
    )
    data = {name: value for name, value in asdict(content).items() if name not in _OWN_FIELDS}
    mutants = list(content.equivalent_mutants)
    data |= {
        "category": categories[content.category] if content.category else None,
        "statement_hash": content.statement_hash,
        "retrieval_context": list(content.retrieval_context),
        "not_runnable_reasons": list(content.not_runnable_reasons),
    }
    # A task that returns to what it once was returns to that revision, with all that was measured on it.
    for revision in task.revisions.select_related("category"):
        if all(getattr(revision, name) == value for name, value in data.items()):
            if revision.equivalent_mutants != mutants:
                # What is said about the test is no content of the task: answers keep their version.
                revision.equivalent_mutants = mutants
                revision.save(update_fields=["equivalent_mutants"])
            return revision
    last = task.revisions.aggregate(last=Max("number"))["last"] or 0
    return TaskRevision.objects.create(task=task, number=last + 1, equivalent_mutants=mutants, **data)


def _compare(
    suite: Suite, revisions: list[TaskRevision], before: dict[int, int], known: set[str]
) -> dict[str, tuple[str, ...]]:
    current = {revision.task_id: revision.pk for revision in revisions}
    slugs = {revision.task_id: revision.task.slug for revision in revisions}
    gone = before.keys() - current.keys()
    changed = {task for task, pk in current.items() if task in before and before[task] != pk}
    return {
        "created": tuple(slug for slug in slugs.values() if slug not in known),
        "changed": tuple(
            slug for task, slug in slugs.items() if task in changed or (task not in before and slug in known)
        ),
        "unchanged": tuple(slug for task, slug in slugs.items() if before.get(task) == current[task]),
        "removed": tuple(Task.objects.filter(suite=suite, pk__in=gone).values_list("slug", flat=True)),
    }


def _new_version(
    suite: Suite, current: SuiteVersion | None, revisions: list[TaskRevision], changes: str
) -> SuiteVersion:
    epoch = suite.seed_epochs.order_by("-number").first() or SeedEpoch.objects.create(suite=suite, number=1)
    number = current.number + 1 if current else 1
    version = SuiteVersion.objects.create(suite=suite, number=number, seed_epoch=epoch, changes=changes)
    version.revisions.set(revisions)
    return version


def _summary(changes: dict[str, tuple[str, ...]]) -> str:
    parts = [("Added", changes["created"]), ("Changed", changes["changed"]), ("Removed", changes["removed"])]
    return " ".join(f"{verb} {_listed(slugs)}." for verb, slugs in parts if slugs)


def _listed(slugs: Iterable[str]) -> str:
    return ", ".join(slugs)
