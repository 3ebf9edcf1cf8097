"""What is hidden from somebody who is labelling, until the label is locked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from reviews.enums import LET_GO, OPEN, AssignmentState, CaseKind
from reviews.models import Assignment
from submissions.models import User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet


def unlocked(user: User | AnonymousUser) -> QuerySet[Assignment]:
    """What ``user`` has to label, or may take up again after it expired or was handed back. Practice is not in it.

    Every number of their submissions is hidden from ``user``: see :func:`hidden_submissions`.
    """
    if not isinstance(user, User):
        return Assignment.objects.none()
    again = Q(state__in=LET_GO, case__state__in=OPEN)
    mine = Assignment.objects.filter(again | Q(state=AssignmentState.ACTIVE), reviewer__user=user, review__isnull=True)
    answer = "case__implementation"
    return (
        mine.exclude(case__kind=CaseKind.PRACTICE)
        .select_related(f"{answer}__revision__task")
        .only("state", "case__implementation_id", f"{answer}__submission_id", f"{answer}__revision__task__suite_id")
    )


def hidden_submissions(user: User | AnonymousUser) -> frozenset[int]:
    """Return the ids of the submissions that ``user`` has an answer of to label, by :func:`unlocked`.

    Outcomes, labels, totals and costs of all their answers are hidden: a total less the others shows the one at hand.
    """
    return frozenset(unlocked(user).values_list("case__implementation__submission", flat=True))
