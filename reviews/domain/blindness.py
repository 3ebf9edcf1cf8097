"""What is closed to somebody who is labelling, until the label is locked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from reviews.enums import AssignmentState, CaseKind
from reviews.models import Assignment
from submissions.models import User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser


def closed_suites(user: User | AnonymousUser) -> frozenset[int]:
    """Ids of the suites of which ``user`` holds an answer and has not locked a label. One query, none for strangers.

    Single answers of such a suite, and what was said of them, are closed to that person on every page: closing the one
    answer alone would tell which one it is. Rows of boards stay, since no single answer can be read off them.
    """
    if not isinstance(user, User):
        return frozenset()
    held = Assignment.objects.filter(
        reviewer__user=user, state=AssignmentState.ACTIVE, lease_until__gt=timezone.now()
    ).exclude(case__kind=CaseKind.PRACTICE)
    return frozenset(held.values_list("case__implementation__submission__suite_version__suite", flat=True))
