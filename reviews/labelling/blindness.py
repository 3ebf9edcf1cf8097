"""What is closed to somebody who is labelling, until the label is locked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import Q

from reviews.enums import AssignmentState, CaseKind, CaseState
from reviews.models import Assignment
from submissions.models import User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

_OPEN: Final = (
    *(CaseState.QUEUED, CaseState.LEASED, CaseState.ONE_LABEL),
    *(CaseState.DISPUTED, CaseState.ADJUDICATING),
)


def unlocked(user: User | AnonymousUser) -> QuerySet[Assignment]:
    """What ``user`` has to label, or may take up again after it expired or was handed back. Practice is not in it."""
    again = Q(state__in=[AssignmentState.EXPIRED, AssignmentState.RETURNED], case__state__in=_OPEN)
    mine = Assignment.objects.filter(reviewer__user=user.pk, review__isnull=True)
    return mine.filter(Q(state=AssignmentState.ACTIVE) | again).exclude(case__kind=CaseKind.PRACTICE)


def closed_suites(user: User | AnonymousUser) -> frozenset[int]:
    """Ids of the suites of which ``user`` has an answer to label. One query, none for strangers.

    Single answers of such a suite, and what was said of them, are closed to that person on every page: closing the one
    answer alone would tell which one it is. Rows of boards stay where they are of many answers, since no single one
    can be read off them. Locking or skipping the item opens the pages.
    """
    if not isinstance(user, User):
        return frozenset()
    return frozenset(unlocked(user).values_list("case__implementation__submission__suite_version__suite", flat=True))
