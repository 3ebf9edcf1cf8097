"""Find what must stay hidden from a reviewer until the label is locked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from reviews.enums import OPEN, RESUMABLE, AssignmentState, CaseKind
from reviews.models import Assignment
from submissions.models import User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet


def unlocked_assignments(user: User | AnonymousUser) -> QuerySet[Assignment]:
    """Return the assignments that ``user`` has to label, or may resume after expiry or hand-back, except practice.

    Every result of their submissions is hidden from ``user``: see :func:`hidden_submissions`.
    """
    if not isinstance(user, User):
        return Assignment.objects.none()
    again = Q(state__in=RESUMABLE, case__state__in=OPEN)
    mine = Assignment.objects.filter(again | Q(state=AssignmentState.ACTIVE), reviewer__user=user, review__isnull=True)
    answer = "case__implementation"
    return (
        mine.exclude(case__kind=CaseKind.PRACTICE)
        .select_related(f"{answer}__revision__task")
        .only("state", "case__implementation_id", f"{answer}__submission_id", f"{answer}__revision__task__suite_id")
    )


def hidden_submissions(user: User | AnonymousUser) -> frozenset[int]:
    """Return the ids of the submissions with an answer that ``user`` has to label (:func:`unlocked_assignments`).

    Outcomes, labels, totals and costs of all their answers are hidden, since a total minus the other answers would
    reveal the answer's own.
    """
    return frozenset(unlocked_assignments(user).values_list("case__implementation__submission", flat=True))
