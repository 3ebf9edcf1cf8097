"""Show annotators an answer again after a while, to measure the consistency of their labels."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, IntegerField, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from reviews.cases import states
from reviews.cases.sampling import drawn
from reviews.enums import CaseKind, CaseState, Role, Severity
from reviews.models import Case, Review

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from reviews.models import Reviewer

LABELS_BETWEEN: Final = 20
DAYS_BETWEEN: Final = 7

_REPEAT: Final = "repeat"


def plan_repeat(review: Review) -> Case | None:
    """Create a repeat case for the same annotator if ``review`` is drawn at random; return it, or ``None``.

    Only annotators' labels of real items are drawn, once per annotator and answer. Idempotent.
    """
    repeatable = review.role == Role.ANNOTATOR and review.case.kind == CaseKind.REVIEW and review.reviewer.user_id
    if not repeatable or not drawn(_REPEAT, review.pk, settings.ENVIRONMENT.review_repeat_share):
        return None
    try:
        with transaction.atomic():
            case = Case.objects.create(
                implementation_id=review.case.implementation_id,
                kind=CaseKind.REPEAT,
                severity=Severity.AUDIT,
                labels_wanted=1,
                reserved_for=review.reviewer,
            )
            states.note(case, before="", after=CaseState.QUEUED, what="a label is repeated")
    except IntegrityError:
        return None
    return case


def due_repeats(reviewer: Reviewer) -> QuerySet[Case]:
    """Return the repeats that ``reviewer`` may label now, after enough other labels or days since the first label."""
    since = (
        Review.objects.filter(reviewer=reviewer, locked__gt=OuterRef("created"))
        .exclude(case__kind=CaseKind.PRACTICE)
        .order_by()
        .values("reviewer")
        .annotate(number=Count("pk"))
        .values("number")
    )
    forgotten = Q(between__gte=LABELS_BETWEEN) | Q(created__lte=timezone.now() - timedelta(days=DAYS_BETWEEN))
    return (
        Case.objects.filter(kind=CaseKind.REPEAT, reserved_for=reviewer, state__in=[CaseState.QUEUED, CaseState.LEASED])
        .annotate(between=Coalesce(Subquery(since, output_field=IntegerField()), Value(0)))
        .filter(forgotten)
    )
