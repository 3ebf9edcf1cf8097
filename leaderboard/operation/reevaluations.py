"""Re-evaluations as pages show them: under way, and what the applied ones changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count, Q

from evaluator.enums import ReevaluationState, RunState
from evaluator.models import Reevaluation
from evaluator.reevaluation.differences import Difference

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from submissions.models import Submission

LISTED = 25


@dataclass(frozen=True, slots=True)
class ShownReevaluation:
    """``difference`` is None unless it was applied. ``done`` of ``total`` runs have ended."""

    row: Reevaluation
    done: int
    total: int
    difference: Difference | None

    @property
    def state(self) -> str:
        """In words."""
        return self.row.get_state_display()

    @property
    def held(self) -> bool:
        """Whether a maintainer has to look."""
        return self.row.state == ReevaluationState.HELD


def of_submission(submission: Submission) -> list[ShownReevaluation]:
    """Those of one submission, newest first, without the stopped ones: they changed nothing. One query."""
    return _shown(_counted().filter(submission=submission).exclude(state=ReevaluationState.CANCELLED))


def under_way() -> list[ShownReevaluation]:
    """All that have not ended, held ones first. One query."""
    return _shown(
        _counted().filter(state__in=[ReevaluationState.RUNNING, ReevaluationState.HELD]).order_by("state", "-pk")
    )


def latest(number: int = LISTED) -> list[ShownReevaluation]:
    """The last ones that ended. One query."""
    ended = _counted().filter(state__in=[ReevaluationState.APPLIED, ReevaluationState.CANCELLED])
    return _shown(ended.order_by("-ended", "-pk")[:number])


def _counted() -> QuerySet[Reevaluation]:
    return Reevaluation.objects.select_related("submission__system", "from_version", "to_version", "actor").annotate(
        total=Count("runs"), done=Count("runs", filter=Q(runs__state=RunState.DONE))
    )


def _shown(rows: QuerySet[Reevaluation]) -> list[ShownReevaluation]:
    return [
        ShownReevaluation(
            row=row,
            done=row.done,  # type: ignore[attr-defined]
            total=row.total,  # type: ignore[attr-defined]
            difference=Difference.of(row) if row.state == ReevaluationState.APPLIED else None,
        )
        for row in rows
    ]
