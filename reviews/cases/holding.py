"""Hold an item by a lease: renew it, hand it back, skip it, and end expired leases."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from reviews.cases import states
from reviews.enums import LIVE, RESUMABLE, AssignmentState, CaseKind, CaseState
from reviews.exceptions import IncompleteError, LeaseLostError
from reviews.models import Assignment, Case, Reviewer

if TYPE_CHECKING:
    from datetime import datetime

SHORTEST_REASON: Final = 10
LONGEST_REASON: Final = 2000


def lease_end() -> datetime:
    """Return the end of a lease that begins or is renewed now."""
    return timezone.now() + timedelta(seconds=settings.ENVIRONMENT.review_lease_seconds)


def extend(assignment: Assignment) -> datetime:
    """Renew the lease, even an expired one if the case is still free, and return its end.

    Raises :class:`LeaseLostError` if the assignment has ended or was resumed elsewhere.
    """
    until = renew(assignment)
    if until is None:
        raise LeaseLostError(why_lost(assignment))
    return until


def hand_back(assignment: Assignment) -> None:
    """Return the case to the queue and keep the draft. Does nothing if it is no longer held.

    Raises :class:`LeaseLostError` if the label is already locked.
    """
    if _release(assignment, after=AssignmentState.RETURNED, what="handed back"):
        return
    assignment.refresh_from_db()
    if assignment.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(assignment))


def skip(assignment: Assignment, *, reason: str) -> None:
    """Leave the case to others for good and keep the draft. Expired and returned items can be skipped too.

    Raises :class:`IncompleteError` if the reason is too short or too long, :class:`LeaseLostError` if the label is
    locked.
    """
    if assignment.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(assignment))
    reason = reason.strip()
    if not SHORTEST_REASON <= len(reason) <= LONGEST_REASON or "\0" in reason:
        msg = f"Explain in {SHORTEST_REASON} to {LONGEST_REASON} characters why you cannot label this item."
        raise IncompleteError({"reason": msg})
    if _release(assignment, after=AssignmentState.SKIPPED, what="skipped", skip_reason=reason):
        return
    again = Assignment.objects.filter(pk=assignment.pk, state__in=RESUMABLE)
    again.update(state=AssignmentState.SKIPPED, skip_reason=reason)
    assignment.refresh_from_db()
    if assignment.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(assignment))


def expire() -> int:
    """End expired leases, except of practice items, and return their cases to the queue; return how many."""
    late = Assignment.objects.filter(state__in=LIVE, lease_until__lte=timezone.now())
    ended = 0
    for assignment in late.exclude(case__kind=CaseKind.PRACTICE).select_related("reviewer").order_by("pk"):
        ended += _release(assignment, only_late=True, after=AssignmentState.EXPIRED, what="lease ran out")
    return ended


def why_lost(assignment: Assignment) -> str:
    """Return a message on why an assignment is no longer held, and what to do."""
    state = Assignment.objects.values_list("state", flat=True).get(pk=assignment.pk)
    return {
        AssignmentState.DONE: "Your label of this item is locked and cannot be changed. Take the next item.",
        AssignmentState.RETURNED: "This item was handed back. Your draft is kept; resume the item if it is "
        "still waiting, or take the next one.",
        AssignmentState.EXPIRED: "Your time with this item ran out. Your draft is kept; resume the item if "
        "it is still waiting, or take the next one.",
        AssignmentState.SKIPPED: "You skipped this item; others will label it. Your draft is kept. Take the next item.",
    }.get(
        AssignmentState(state),
        "This item was resumed in another tab or device. Your draft is kept; continue there, or reload.",
    )


def renew(assignment: Assignment) -> datetime | None:
    """Renew a lease that is still held; return its end, or None if the item is no longer held."""
    until = lease_end()
    rows = Assignment.objects.filter(pk=assignment.pk, token=assignment.token, state__in=LIVE)
    if not rows.update(lease_until=until):
        return None
    assignment.lease_until = until
    return until


def _release(
    assignment: Assignment, *, after: AssignmentState, what: str, only_late: bool = False, **fields: str
) -> bool:
    """End a live assignment and return its case to the queue; return whether it was live."""
    with transaction.atomic():
        case = states.hold(assignment.case_id)
        live = Assignment.objects.filter(pk=assignment.pk, state__in=LIVE)
        if only_late:
            live = live.filter(lease_until__lte=timezone.now())
        facts = {"state": after, "lease_until": None, "ended": timezone.now(), **fields}
        if not live.update(**facts):
            return False
        _requeue(case, assignment.reviewer, what)
    for name, value in facts.items():
        setattr(assignment, name, value)
    return True


def _requeue(case: Case, reviewer: Reviewer, what: str) -> None:
    if case.kind == CaseKind.PRACTICE:
        return
    before = CaseState(case.state)
    resting = {CaseState.LEASED: CaseState.QUEUED, CaseState.ADJUDICATING: CaseState.DISPUTED}.get(before, before)
    if resting == before or Assignment.objects.filter(case=case, state__in=LIVE).exists():
        states.note(case, before=before, after=before, reviewer=reviewer, what=what)
    else:
        states.move(case, allowed=[before], after=resting, reviewer=reviewer, what=what)
