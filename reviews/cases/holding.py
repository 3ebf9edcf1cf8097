"""Holding an item by a lease: renewing it, handing it back, skipping it, and ending leases that ran out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from reviews.cases import states
from reviews.enums import LET_GO, LIVE, AssignmentState, CaseKind, CaseState
from reviews.exceptions import IncompleteError, LeaseLostError
from reviews.models import Assignment, Case, Reviewer

if TYPE_CHECKING:
    from datetime import datetime

SHORTEST_REASON: Final = 10
LONGEST_REASON: Final = 2000


def lease_end() -> datetime:
    """Until when a lease that begins or is renewed now lasts."""
    return timezone.now() + timedelta(seconds=settings.ENVIRONMENT.review_lease_seconds)


def extend(assignment: Assignment) -> datetime:
    """Heartbeat: renew the lease, also one that ran out while nobody asked for the case; answer until when it lasts.

    Raises :class:`LeaseLostError` when the assignment has ended or was taken up anew.
    """
    until = renew(assignment)
    if until is None:
        raise LeaseLostError(why_lost(assignment))
    return until


def hand_back(assignment: Assignment) -> None:
    """Give the case back to the queue, draft kept. Handing back what is not held any more changes nothing.

    Raises :class:`LeaseLostError` when the label is locked already.
    """
    if _let_go(assignment, after=AssignmentState.RETURNED, what="handed back"):
        return
    assignment.refresh_from_db()
    if assignment.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(assignment))


def skip(assignment: Assignment, *, reason: str) -> None:
    """Leave the case to others for good, draft kept. An expired or returned one can be skipped too.

    Raises :class:`IncompleteError` without a reason of some length, :class:`LeaseLostError` when the label is locked.
    """
    if assignment.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(assignment))
    reason = reason.strip()
    if not SHORTEST_REASON <= len(reason) <= LONGEST_REASON or "\0" in reason:
        msg = f"Say in {SHORTEST_REASON} to {LONGEST_REASON} characters why you cannot label this item."
        raise IncompleteError({"reason": msg})
    if _let_go(assignment, after=AssignmentState.SKIPPED, what="skipped", skip_reason=reason):
        return
    again = Assignment.objects.filter(pk=assignment.pk, state__in=LET_GO)
    again.update(state=AssignmentState.SKIPPED, skip_reason=reason)
    assignment.refresh_from_db()
    if assignment.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(assignment))


def expire() -> int:
    """End the leases that ran out, practice excepted, and give their cases to others; answer how many these were."""
    late = Assignment.objects.filter(state__in=LIVE, lease_until__lte=timezone.now())
    ended = 0
    for assignment in late.exclude(case__kind=CaseKind.PRACTICE).select_related("reviewer").order_by("pk"):
        ended += _let_go(assignment, only_late=True, after=AssignmentState.EXPIRED, what="lease ran out")
    return ended


def why_lost(assignment: Assignment) -> str:
    """Why an assignment is not held any more, as it is now, and what to do."""
    state = Assignment.objects.values_list("state", flat=True).get(pk=assignment.pk)
    return {
        AssignmentState.DONE: "Your label of this item is locked and cannot be changed. Take the next item.",
        AssignmentState.RETURNED: "This item was handed back. What you typed is kept; take the item up again if it is "
        "still waiting, or take the next one.",
        AssignmentState.EXPIRED: "Your time with this item ran out. What you typed is kept; take the item up again if "
        "it is still waiting, or take the next one.",
        AssignmentState.SKIPPED: "You skipped this item, others label it. What you typed is kept. Take the next item.",
    }.get(
        AssignmentState(state),
        "This item was taken up anew in another tab or device. What you typed is kept; go on there, or reload.",
    )


def renew(assignment: Assignment) -> datetime | None:
    """Renew a lease that is still held; answer until when it lasts, or None when the item is not held any more."""
    until = lease_end()
    rows = Assignment.objects.filter(pk=assignment.pk, token=assignment.token, state__in=LIVE)
    if not rows.update(lease_until=until):
        return None
    assignment.lease_until = until
    return until


def _let_go(
    assignment: Assignment, *, after: AssignmentState, what: str, only_late: bool = False, **fields: str
) -> bool:
    """End a live assignment and put its case back where others find it; say whether it was live."""
    with transaction.atomic():
        case = states.hold(assignment.case_id)
        live = Assignment.objects.filter(pk=assignment.pk, state__in=LIVE)
        if only_late:
            live = live.filter(lease_until__lte=timezone.now())
        facts = {"state": after, "lease_until": None, "ended": timezone.now(), **fields}
        if not live.update(**facts):
            return False
        _put_back(case, assignment.reviewer, what)
    for name, value in facts.items():
        setattr(assignment, name, value)
    return True


def _put_back(case: Case, reviewer: Reviewer, what: str) -> None:
    if case.kind == CaseKind.PRACTICE:
        return
    before = CaseState(case.state)
    resting = {CaseState.LEASED: CaseState.QUEUED, CaseState.ADJUDICATING: CaseState.DISPUTED}.get(before, before)
    if resting == before or Assignment.objects.filter(case=case, state__in=LIVE).exists():
        states.note(case, before=before, after=before, reviewer=reviewer, what=what)
    else:
        states.move(case, allowed=[before], after=resting, reviewer=reviewer, what=what)
