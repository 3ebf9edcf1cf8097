"""Count what the suites have, for maintainers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import Count, Q

from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SuiteVersion
from leaderboard.board.rows import visible_entries
from leaderboard.models import Snapshot
from submissions.enums import Kind
from submissions.models import Submission

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

    from benchmark_tasks.models import Suite


class SuiteRow(NamedTuple):
    """A suite with its newest version, whose tasks are counted, and all its submissions, ranked rows and snapshots."""

    suite: Suite
    version: SuiteVersion | None
    tasks: int
    audited: int
    submissions: int
    rows: int
    snapshots: int


def suite_rows(suites: Iterable[Suite]) -> list[SuiteRow]:
    """Count each of ``suites``. Four queries."""
    listed = list(suites)
    audited = Count("revisions", filter=Q(revisions__audit_state=AuditState.PASSED))
    versions = SuiteVersion.objects.filter(suite__in=listed).annotate(tasks=Count("revisions"), audited=audited)
    newest = {version.suite_id: version for version in versions.order_by("number")}
    submissions = _counts(Submission.objects.filter(suite_version__suite__in=listed), "suite_version__suite")
    rows = _counts(visible_entries().filter(kind=Kind.RANKED, suite_version__suite__in=listed), "suite_version__suite")
    snapshots = _counts(Snapshot.objects.filter(suite__in=listed), "suite")
    return [
        SuiteRow(
            suite,
            version := newest.get(suite.pk),
            version.tasks if version else 0,
            version.audited if version else 0,
            submissions.get(suite.pk, 0),
            rows.get(suite.pk, 0),
            snapshots.get(suite.pk, 0),
        )
        for suite in listed
    ]


def _counts(found: QuerySet[Any], suite: str) -> dict[int, int]:
    """Return the number of rows by the suite to which the lookup ``suite`` leads."""
    return dict(found.order_by().values_list(suite).annotate(number=Count("pk")))
