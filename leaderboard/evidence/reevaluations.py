"""Collect re-evaluations for pages: those under way, and the differences that applied ones made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from django.db.models import Count, Q

from evaluator.enums import ReevaluationState, RunState
from evaluator.models import Reevaluation
from evaluator.reevaluation.planning import UNDER_WAY
from evaluator.reevaluation.reevaluating import Difference, differences

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from submissions.models import Submission

LISTED = 25


class Shown(NamedTuple):
    """A re-evaluation with ``done`` of ``total`` ended runs; ``difference`` is None unless it was applied."""

    row: Reevaluation
    difference: Difference | None


def of_submission(submission: Submission) -> list[Shown]:
    """List the re-evaluations of one submission, newest first, without cancelled ones, which changed nothing."""
    return _shown(_counted().filter(submission=submission).exclude(state=ReevaluationState.CANCELLED))


def under_way() -> list[Shown]:
    """List all re-evaluations that have not ended, held ones first."""
    return _shown(_counted().filter(state__in=UNDER_WAY).order_by("state", "-pk"))


def latest(number: int = LISTED) -> list[Shown]:
    """List the last re-evaluations that ended."""
    ended = _counted().filter(state__in=[ReevaluationState.APPLIED, ReevaluationState.CANCELLED])
    return _shown(ended.order_by("-ended", "-pk")[:number])


def _counted() -> QuerySet[Reevaluation]:
    return Reevaluation.objects.select_related("submission__system", "from_version", "to_version", "actor").annotate(
        total=Count("runs"), done=Count("runs", filter=Q(runs__state=RunState.DONE))
    )


def _shown(found: QuerySet[Reevaluation]) -> list[Shown]:
    rows = list(found)
    changed = differences(rows)
    return [Shown(row, changed.get(row.pk)) for row in rows]
