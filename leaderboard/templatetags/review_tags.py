"""What pages of numbers say of human review: final labels, and tasks that a decision put in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template

from leaderboard.cases.case_pages import public_cases
from reviews.cases.flags import raised_flags

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

    from benchmark_tasks.models import SuiteVersion, TaskRevision
    from leaderboard.board.board import BoardRow
    from reviews.models import TaskFlag

register = template.Library()


@register.filter
def any_reviewed(rows: Iterable[BoardRow]) -> bool:
    """Whether annotators gave final labels of any row: else a column of them would repeat the judge's."""
    return any(row.final is not None and row.final.by_annotators for row in rows)


@register.filter
def any_flagged(rows: Iterable[BoardRow]) -> bool:
    """Whether any row counts a task that a decision put in doubt."""
    return any(row.flagged for row in rows)


@register.filter
def flags_in(version: SuiteVersion) -> list[tuple[TaskFlag, bool]]:
    """The raised flags of a suite version's tasks, and whether the case of each has a public page. Two queries."""
    flags = raised_flags().filter(revision__suite_versions=version)
    return _with_pages(flags.select_related("revision__task__paper", "revision__task__suite"))


@register.filter
def flags_on(revision: TaskRevision) -> list[tuple[TaskFlag, bool]]:
    """The raised flags of one task revision, and whether the case of each has a public page. Two queries."""
    return _with_pages(raised_flags().filter(revision=revision))


def _with_pages(flags: QuerySet[TaskFlag]) -> list[tuple[TaskFlag, bool]]:
    listed = list(flags.select_related("decision__case").order_by("pk"))
    cases = [flag.decision.case_id for flag in listed]
    public = set(public_cases().filter(pk__in=cases).values_list("pk", flat=True)) if cases else set()
    return [(flag, flag.decision.case_id in public) for flag in listed]
