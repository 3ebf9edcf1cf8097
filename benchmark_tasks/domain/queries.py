"""Query the catalogue: suites, versions, task revisions and their definitions."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.db.models import Exists, OuterRef, Prefetch, Subquery

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.content import ContentMissingError, tree_path
from benchmark_tasks.domain.goals import FoundGoal, Goal, find_goal
from benchmark_tasks.domain.python_source import SourceError
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import Category, SuiteVersion, TaskRevision

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

    from benchmark_tasks.models import Suite


UNREADABLE: Final = (ContentMissingError, SourceError, OSError)
"""Exceptions of reading a definition if the task's files are missing or no longer contain the goal."""


def distinct_titles(suites: Iterable[Suite]) -> list[tuple[Suite, str]]:
    """Pair suites with titles; the slug is added to titles that several suites have."""
    listed = list(suites)
    times = Counter(suite.title for suite in listed)
    return [(suite, suite.title if times[suite.title] == 1 else f"{suite.title} ({suite.slug})") for suite in listed]


def categories_of(version: SuiteVersion) -> list[Category]:
    """List the categories in which a suite version has tasks, in the paper's order."""
    revisions = version.revisions.filter(category=OuterRef("pk"))
    return list(Category.objects.filter(Exists(revisions)))


def current_version(suite: Suite) -> SuiteVersion | None:
    """Return the suite's newest version with suite and seed epoch loaded; None before the first import."""
    return SuiteVersion.objects.filter(suite=suite).select_related("suite", "seed_epoch").order_by("-number").first()


def newest_versions(suites: Iterable[Suite]) -> dict[int, SuiteVersion]:
    """Return suite's id -> its newest version, with what :func:`why_closed` reads of its revisions. Two queries."""
    newest = SuiteVersion.objects.filter(suite=OuterRef("suite")).order_by("-number").values("pk")[:1]
    states = TaskRevision.objects.only("not_runnable_reasons", "audit_state", "audit")
    found = SuiteVersion.objects.filter(suite__in=list(suites), pk=Subquery(newest)).select_related("suite")
    return {each.suite_id: each for each in found.prefetch_related(Prefetch("revisions", states))}


def revisions_of(version: SuiteVersion) -> QuerySet[TaskRevision]:
    """Return the version's task revisions in the benchmark's order, with task, paper and category (one query)."""
    return in_order(TaskRevision.objects.filter(suite_versions=version))


def in_order(revisions: QuerySet[TaskRevision]) -> QuerySet[TaskRevision]:
    """Sort ``revisions`` in the benchmark's order, with task, paper and category loaded."""
    found = revisions.select_related("task__suite", "task__paper", "category")
    return found.order_by("task__paper__folder_name", "task__index")


def digest_of(version: SuiteVersion) -> str:
    """Return the SHA-256 (hexadecimal) of the digests of a version's statements, code and grading (one query)."""
    facts = revisions_of(version).values_list("task__slug", "statement_hash", "repository_hash", "grading_hash")
    return hashlib.sha256(json.dumps(list(map(list, facts))).encode()).hexdigest()


def runnable_revisions_of(version: SuiteVersion) -> list[TaskRevision]:
    """List the version's revisions that accept answers."""
    return [revision for revision in revisions_of(version) if revision.runnable]


def has_code(version: SuiteVersion) -> bool:
    """Return whether any task of the version accepts answers; a suite of facts only accepts no submissions."""
    return bool(runnable_revisions_of(version))


def why_closed(version: SuiteVersion) -> str:
    """Return the reason why ``version`` accepts no submissions now; empty if it does.

    Tasks that are not audited yet accept answers, which count once the audit has passed.
    """
    revisions = list(version.revisions.all())
    slug = version.suite.slug
    if not any(revision.runnable for revision in revisions):
        return (
            f"The suite {slug!r} has no task with a test on this site, so it accepts no submissions. "
            "Its page shows maintainers why."
        )
    waiting = [each for each in revisions if each.runnable and each.audit_state == AuditState.UNAUDITED]
    obstacles = ", ".join(dict.fromkeys(each.audit["obstacle"] for each in waiting if each.audit.get("obstacle")))
    if obstacles:
        return (
            f"The tasks of {slug!r} cannot be audited, so it accepts no submissions: {obstacles}. "
            "The site's operator has to correct that and repeat the audit."
        )
    return ""


def goal_of(revision: TaskRevision) -> Goal:
    """Return the masked definition of ``revision`` as a :class:`Goal`, for code without Django."""
    return Goal(
        task=revision.task.slug,
        file=revision.goal_file,
        function=revision.goal_function,
        class_name=revision.class_name,
    )


def golden_definition(revision: TaskRevision) -> str:
    """Return the golden source of the goal with decorators, indented as in its file. Never for code that a box sees.

    Raises the exceptions in :data:`UNREADABLE`.
    """
    return find_goal(golden_file(revision).read_bytes(), goal_of(revision)).text


def reference_lines(revision: TaskRevision) -> int | None:
    """Return the number of lines of the reference implementation; None if it cannot be read now."""
    if not revision.grading_hash:
        return None
    try:
        return _lines_of(str(golden_file(revision)), goal_of(revision))
    except (*UNREADABLE, StorageUnavailableError):  # a count is not worth the page
        return None


@lru_cache(maxsize=1000)
def _lines_of(file: str, goal: Goal) -> int:
    """Count the lines of a goal in a golden file, which never changes; parsing those of a suite takes seconds."""
    return len(find_goal(Path(file).read_bytes(), goal).text.splitlines())


def golden_file(revision: TaskRevision) -> Path:
    """Return the path of the golden goal file."""
    return tree_path(revision.grading_hash) / "reference" / revision.goal_file


def masked_definition(revision: TaskRevision) -> FoundGoal:
    """Return the masked goal within its whole file. Raises the exceptions in :data:`UNREADABLE`."""
    return find_goal((tree_path(revision.repository_hash) / revision.goal_file).read_bytes(), goal_of(revision))
