"""Store papers and tasks as revisions, and revisions as a suite version. The same content is the same revision."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.db import transaction
from django.db.models import Max

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Category, Paper, SeedEpoch, Suite, SuiteVersion, Task, TaskRevision
from benchmark_tasks.signals import suite_imported

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

NewPaper: TypeAlias = "tuple[Paper, list[TaskRevision]]"
"""A paper and its tasks, unsaved: each revision has its own unsaved task and category."""

_PAPER: Final = ("instance_id", "folder_name", "title", "address", "year", "repository_address", "repository_folder")
_STATEMENT: Final = ("instruction", "goal_file", "goal_function", "class_name", "retrieval_context", "paper_hash")
_CONTENT: Final = (
    *(*_STATEMENT, "category", "category_source", "protocol", "environment", "check_settings", "unit_test_file"),
    *("masked_source", "masked_line", "statement_hash", "repository_hash", "grading_hash", "dockerfile_hash"),
    "not_runnable_reasons",
)
"""Fields that identify a revision: a change of any of them makes a new one."""
_ABOUT_THE_TEST: Final = ("equivalent_mutants", "overlay")
"""Fields that describe the test and are not content of the task: changing them makes no new revision."""


@dataclass(frozen=True, slots=True)
class SuiteChanges:
    """Result of storing a suite's content, as task slugs; ``version`` is None if nothing changed."""

    version: SuiteVersion | None
    created: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


def store_papers(
    *,
    suite: Suite,
    papers: Sequence[NewPaper],
    kept: Collection[str] = (),
    news: str = "",
    actor: Any = None,
) -> SuiteChanges:
    """Make ``papers`` the content of ``suite``; create a new version if it differs from the current one.

    Papers with the slugs ``kept`` stay as they are in the current version. ``news`` is the maintainers' own remark on
    the version. Sends ``suite_imported`` after commit for a new version.
    """
    with transaction.atomic():
        # Two concurrent imports would otherwise use the same numbers for revisions and versions.
        suite = Suite.objects.select_for_update().get(pk=suite.pk)
        categories = {category.slug: category for category in Category.objects.all()}
        current = current_version(suite)
        before = {r.task_id: r.pk for r in TaskRevision.objects.filter(suite_versions=current)} if current else {}
        known = set(Task.objects.filter(suite=suite).values_list("slug", flat=True))
        revisions = [
            _store_task(stored, task, categories)
            for stored, tasks in [(_store_paper(suite, paper), tasks) for paper, tasks in papers]
            for task in tasks
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


def _store_paper(suite: Suite, paper: Paper) -> Paper:
    data = {name: getattr(paper, name) for name in _PAPER}
    return Paper.objects.update_or_create(suite=suite, slug=paper.slug, defaults=data)[0]


def _store_task(paper: Paper, content: TaskRevision, categories: dict[str, Category]) -> TaskRevision:
    """Return the task's revision with this content, or save ``content`` as a new one."""
    index = content.task.index
    task, _ = Task.objects.update_or_create(
        suite=paper.suite, slug=f"{paper.slug}/{index}", defaults={"paper": paper, "index": index}
    )
    content.category = categories[content.category.slug] if content.category else None
    # SHA-256 of what a system is given: instruction, goal, context and publication.
    statement = json.dumps([getattr(content, name) for name in _STATEMENT])
    content.statement_hash = hashlib.sha256(statement.encode()).hexdigest()
    # A task whose content returns to an earlier one returns to that revision, with all results on it.
    for revision in task.revisions.select_related("category"):
        if all(getattr(revision, name) == getattr(content, name) for name in _CONTENT):
            if any(getattr(revision, name) != getattr(content, name) for name in _ABOUT_THE_TEST):
                for name in _ABOUT_THE_TEST:
                    setattr(revision, name, getattr(content, name))
                revision.save(update_fields=_ABOUT_THE_TEST)
            return revision
    last = task.revisions.aggregate(last=Max("number"))["last"] or 0
    content.task, content.number = task, last + 1
    content.save()
    return content


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
