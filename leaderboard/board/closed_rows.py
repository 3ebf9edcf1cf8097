"""Board rows for somebody who labels an answer of the suite: numbers of few answers would tell each one's rating."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db.models import Count, Exists, IntegerField, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce

from leaderboard.models import EntryMetric, ReportedAggregate, ReportedResult
from submissions.models import Implementation

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from leaderboard.models import Entry

LEAST_ANSWERS: Final = 5
"""Rows of fewer tasks, or of fewer tasks that were answered at all, are closed."""


def few_answers(entries: QuerySet[Entry]) -> frozenset[int]:
    """Ids of the ``entries`` whose numbers are of fewer than :data:`LEAST_ANSWERS` answers. One query.

    Of what others reported only as totals, all tasks count as answered.
    """
    few_tasks = EntryMetric.objects.filter(entry=OuterRef("pk"), category__isnull=True, tasks__lt=LEAST_ANSWERS)
    totals = ReportedAggregate.objects.filter(run=OuterRef("reported_run"), count__isnull=False)
    attempted = Implementation.objects.filter(submission=OuterRef("submission"), attempted=True)
    results = ReportedResult.objects.filter(run=OuterRef("reported_run"))
    counted = entries.order_by().annotate(
        answered=_number(attempted, "submission", Count("revision", distinct=True)),
        told=_number(results, "run", Count("pk")),
    )
    few = (
        Q(Exists(few_tasks))
        | Q(submission__isnull=False, answered__lt=LEAST_ANSWERS)
        | (Q(reported_run__isnull=False, told__lt=LEAST_ANSWERS) & ~Exists(totals))
    )
    return frozenset(counted.filter(few).values_list("pk", flat=True))


def _number(rows: QuerySet[Any], by: str, count: Count) -> Coalesce:
    counted = rows.order_by().values(by).annotate(number=count).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))
