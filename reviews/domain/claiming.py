"""Taking a case to work on, keeping it, and letting go of it.

A person works on one case at a time. Whoever takes one holds it by a lease, which heartbeats renew; nobody else gets
that place until the lease has run out *and* was ended by :func:`expire`, so a late heartbeat loses nothing. Drafts
outlive every ending.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import Exists, F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from reviews.domain import states
from reviews.domain.readiness import require_ready
from reviews.domain.repeats import due_repeats
from reviews.domain.reviewers import open_cases, roles_of
from reviews.domain.states import LIVE, TO_LABEL
from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.exceptions import LabelError, LeaseLostError
from reviews.models import Assignment, Case, Review, Reviewer

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

CANDIDATES: Final = 20
"""How many cases are tried at once before the queue is read again: others may be faster at some."""

SHORTEST_REASON: Final = 10
LONGEST_REASON: Final = 2000

_AGAIN: Final = (AssignmentState.RETURNED, AssignmentState.EXPIRED)


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How many cases wait for one person. ``mine``: held, or let go of and still to be taken up again."""

    mine: int
    unclaimed: int
    disputes: int


def lease_end() -> datetime:
    """Until when a lease that begins or is renewed now lasts."""
    return timezone.now() + timedelta(seconds=settings.ENVIRONMENT.review_lease_seconds)


def claim(*, reviewer: Reviewer, role: Role) -> Assignment | None:
    """What ``reviewer`` is to work on: the case at hand, in whatever role, else the first one that is waiting.

    ``None`` when nothing waits. Raises :class:`NotReadyError` when something is to be done before.
    """
    require_ready(reviewer, role)
    held_now = _held_now(reviewer)
    if held_now is not None and _renew(held_now):
        return held_now
    expire()
    # Cases that others are just looking at are passed over first: there is no need to queue up for one. When nothing
    # else is left they are waited for, since "nothing to do" must be true.
    for waits in (False, True):
        for case_id in _in_order(reviewer, role):
            taken = _take(case_id, reviewer, role, waits=waits)
            if taken is not None:
                return taken
    return None


def take_up(assignment: Assignment) -> Assignment:
    """Take an item up again that expired or was handed back, with its draft.

    Raises :class:`NotReadyError`, and :class:`LeaseLostError` when somebody else is at it, when it has its labels, or
    while another item is held. Nobody waits for a practice item, so there is always a place.
    """
    reviewer, role = assignment.reviewer, Role(assignment.role)
    if assignment.case.kind == CaseKind.PRACTICE:
        _live_again(assignment)
        return assignment
    require_ready(reviewer, role)
    expire()
    taken = _take(assignment.case_id, reviewer, role, waits=True)
    if taken is None:
        raise LeaseLostError(why_lost(assignment))
    if taken.pk != assignment.pk:
        msg = "You hold another item. Lock it or hand it back first; what you typed here is kept."
        raise LeaseLostError(msg)
    extend(taken)
    return taken


def held(*, pk: int, reviewer: Reviewer) -> Assignment:
    """An assignment of ``reviewer``, in any state. Raises ``Assignment.DoesNotExist`` for anybody else's."""
    return Assignment.objects.select_related("case", "reviewer").get(pk=pk, reviewer=reviewer)


def extend(assignment: Assignment) -> datetime:
    """Heartbeat: renew the lease, also one that ran out while nobody asked for the case; answer until when it lasts.

    Raises :class:`LeaseLostError` when the assignment has ended or was taken up anew.
    """
    until = _renew(assignment)
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

    Raises :class:`LabelError` without a reason of some length, :class:`LeaseLostError` when the label is locked.
    """
    if assignment.state == AssignmentState.DONE:
        raise LeaseLostError(why_lost(assignment))
    reason = reason.strip()
    if not SHORTEST_REASON <= len(reason) <= LONGEST_REASON or "\0" in reason:
        msg = f"Say in {SHORTEST_REASON} to {LONGEST_REASON} characters why you cannot label this item."
        raise LabelError({"reason": msg})
    if _let_go(assignment, after=AssignmentState.SKIPPED, what="skipped", skip_reason=reason):
        return
    again = Assignment.objects.filter(pk=assignment.pk, state__in=_AGAIN)
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


def workable(reviewer: Reviewer, role: Role) -> QuerySet[Case]:
    """The cases that ``reviewer`` could take now in ``role``: open, with a place left, and not done or skipped."""
    if role not in roles_of(reviewer):
        return Case.objects.none()
    over = Assignment.objects.filter(case=OuterRef("pk"), reviewer=reviewer).exclude(state__in=_AGAIN)
    cases = open_cases(reviewer).filter(~Exists(over))
    if role == Role.ADJUDICATOR:
        return cases.filter(kind=CaseKind.REVIEW, state=CaseState.DISPUTED)
    labels = _count(Review.objects.filter(case=OuterRef("pk"), role=Role.ANNOTATOR))
    leases = _count(Assignment.objects.filter(case=OuterRef("pk"), role=Role.ANNOTATOR, state=AssignmentState.ACTIVE))
    due = Q(kind=CaseKind.REVIEW) | Q(pk__in=due_repeats(reviewer).values("pk"))
    return cases.filter(due, state__in=TO_LABEL).annotate(taken=labels + leases).filter(taken__lt=F("labels_wanted"))


def queue_counts(reviewer: Reviewer) -> QueueCounts:
    """How many cases wait for ``reviewer``. Three queries.

    Not why they wait: how many are audits would fall when one is taken, and so tell what it is.
    """
    to_label, to_decide = (workable(reviewer, role).values("pk") for role in (Role.ANNOTATOR, Role.ADJUDICATOR))
    again = Q(state__in=_AGAIN) & (Q(case__in=to_label) | Q(case__in=to_decide))
    mine = Assignment.objects.filter(Q(state__in=LIVE) | again, reviewer=reviewer)
    return QueueCounts(
        mine=mine.exclude(case__kind=CaseKind.PRACTICE).count(),
        unclaimed=to_label.count(),
        disputes=to_decide.count(),
    )


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


def _renew(assignment: Assignment) -> datetime | None:
    until = lease_end()
    rows = Assignment.objects.filter(pk=assignment.pk, token=assignment.token, state__in=LIVE)
    if not rows.update(lease_until=until):
        return None
    assignment.lease_until = until
    return until


def _held_now(reviewer: Reviewer) -> Assignment | None:
    rows = Assignment.objects.filter(reviewer=reviewer, state__in=LIVE).exclude(case__kind=CaseKind.PRACTICE)
    return rows.select_related("case", "reviewer").order_by("pk").first()


def _count(rows: QuerySet[Any]) -> Coalesce:
    counted = rows.order_by().values("case").annotate(number=models.Count("pk")).values("number")
    return Coalesce(Subquery(counted), Value(0))


def _in_order(reviewer: Reviewer, role: Role) -> list[int]:
    """Ids of the first cases for ``reviewer``: by severity, then day, then at random, as drawn when they were made.

    What the person handed back comes last. A repeat stands among the most severe: it would tell what it is by coming
    always first, and never come by its own severity while anything else waits.
    """
    cases = workable(reviewer, role)
    severities = cases.filter(kind=CaseKind.REVIEW).order_by().aggregate(highest=models.Max("severity"))
    rank = models.Case(
        models.When(kind=CaseKind.REPEAT, then=Value(severities["highest"] or 0)),
        default=F("severity"),
        output_field=models.IntegerField(),
    )
    returned = Assignment.objects.filter(case=OuterRef("pk"), reviewer=reviewer, state=AssignmentState.RETURNED)
    ordered = cases.annotate(returned=Exists(returned), rank=rank, day=TruncDate("created"))
    return list(ordered.order_by("returned", "-rank", "day", "place", "pk").values_list("pk", flat=True)[:CANDIDATES])


def _take(case_id: int, reviewer: Reviewer, role: Role, *, waits: bool) -> Assignment | None:
    """Lease one case, if it is still there to be taken; what is held meanwhile (a second tab) is answered instead."""
    try:
        with transaction.atomic():
            Reviewer.objects.select_for_update(of=("self",), no_key=True).get(pk=reviewer.pk)
            held_now = _held_now(reviewer)
            if held_now is not None:
                return held_now
            rows = Case.objects.select_for_update(of=("self",), no_key=True, skip_locked=not waits)
            case = rows.filter(pk=case_id).first()
            # Counted only now that nobody else can take a place.
            if case is None or not workable(reviewer, role).filter(pk=case_id).exists():
                return None
            return _lease(case, reviewer, role)
    except IntegrityError:
        return None


def _lease(case: Case, reviewer: Reviewer, role: Role) -> Assignment:
    blind_label_locked = role == Role.ADJUDICATOR and Review.objects.filter(case=case, reviewer=reviewer).exists()
    state = AssignmentState.EVIDENCE if blind_label_locked else AssignmentState.ACTIVE
    facts = {"role": role, "state": state, "token": uuid.uuid4(), "lease_until": lease_end(), "ended": None}
    assignment, _ = Assignment.objects.update_or_create(case=case, reviewer=reviewer, defaults=facts)
    resting, at_work = {
        Role.ANNOTATOR: (CaseState.QUEUED, CaseState.LEASED),
        Role.ADJUDICATOR: (CaseState.DISPUTED, CaseState.ADJUDICATING),
    }[role]
    if not states.move(case, allowed=[resting], after=at_work, reviewer=reviewer, what="taken"):
        states.note(case, before=case.state, after=case.state, reviewer=reviewer, what="taken")
    assignment.case, assignment.reviewer = case, reviewer
    return assignment


def _live_again(assignment: Assignment) -> None:
    facts = {"state": AssignmentState.ACTIVE, "token": uuid.uuid4(), "lease_until": lease_end(), "ended": None}
    if not Assignment.objects.filter(pk=assignment.pk, state__in=_AGAIN).update(**facts):
        raise LeaseLostError(why_lost(assignment))
    assignment.refresh_from_db()


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
