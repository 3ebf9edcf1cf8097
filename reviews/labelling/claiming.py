"""Claim cases to work on.

A reviewer works on one case at a time and holds it by a lease, which heartbeats renew. No other reviewer gets the place
until the lease has expired *and* was ended by :func:`expire`, so a late heartbeat loses nothing. Drafts are always
kept.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.db import IntegrityError, models, transaction
from django.db.models import Exists, F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce, TruncDate
from django.http import Http404

from reviews.annotators.readiness import require_ready
from reviews.annotators.reviewers import open_cases, reviewer_of
from reviews.cases import states
from reviews.cases.holding import expire, extend, lease_end, renew, why_lost
from reviews.enums import LIVE, RESUMABLE, TO_LABEL, AssignmentState, CaseKind, CaseState, Role
from reviews.exceptions import LeaseLostError
from reviews.labelling.repeats import due_repeats
from reviews.models import Assignment, Case, Review, Reviewer

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

    from submissions.models import User

CANDIDATES: Final = 20
"""How many cases are tried before the queue is read again; other reviewers may claim some of them first."""


def own_assignment(user: User | AnonymousUser, pk: int) -> Assignment:
    """Return an assignment of ``user``, in any state. Raises Http404 for other reviewers' assignments."""
    reviewer = reviewer_of(user)
    own = Assignment.objects.select_related("case", "reviewer").filter(pk=pk, reviewer=reviewer).first()
    if reviewer is None or own is None:
        raise Http404("There is no such item.")
    return own


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How many cases wait for one reviewer. ``mine`` counts held and resumable ones."""

    mine: int
    unclaimed: int
    disputes: int


def claim(*, reviewer: Reviewer, role: Role) -> Assignment | None:
    """Return the case that ``reviewer`` holds, in any role, or else claim the first waiting one.

    ``None`` if none waits. Raises :class:`NotReadyError` if the reviewer must do something first.
    """
    require_ready(reviewer, role)
    held_now = _held_now(reviewer)
    if held_now is not None and renew(held_now):
        return held_now
    expire()
    # First skip cases that other requests have locked. If none is left, wait for the locks, so that "nothing waits"
    # is only reported if it is true.
    for waits in (False, True):
        for case_id in _in_order(reviewer, role):
            claimed = _try_claim(case_id, reviewer, role, waits=waits)
            if claimed is not None:
                return claimed
    return None


def resume(assignment: Assignment) -> Assignment:
    """Resume an item that expired or was handed back, with its draft.

    Raises :class:`NotReadyError`, and :class:`LeaseLostError` if another reviewer holds it, if it has its labels, or
    while the reviewer holds another item. A practice item can always be resumed.
    """
    reviewer, role = assignment.reviewer, Role(assignment.role)
    if assignment.case.kind == CaseKind.PRACTICE:
        _reactivate(assignment)
        return assignment
    require_ready(reviewer, role)
    expire()
    claimed = _try_claim(assignment.case_id, reviewer, role, waits=True)
    if claimed is None:
        raise LeaseLostError(why_lost(assignment))
    if claimed.pk != assignment.pk:
        msg = "You hold another item. Lock it or hand it back first; your draft here is kept."
        raise LeaseLostError(msg)
    extend(claimed)
    return claimed


def claimable(reviewer: Reviewer, role: Role) -> QuerySet[Case]:
    """Return the cases that ``reviewer`` can claim now in ``role``: open, with a place left, not done or skipped."""
    if role not in reviewer.roles:
        return Case.objects.none()
    over = Assignment.objects.filter(case=OuterRef("pk"), reviewer=reviewer).exclude(state__in=RESUMABLE)
    cases = open_cases(reviewer).filter(~Exists(over))
    if role == Role.ADJUDICATOR:
        return cases.filter(kind=CaseKind.REVIEW, state=CaseState.DISPUTED)
    labels = _count(Review.objects.filter(case=OuterRef("pk"), role=Role.ANNOTATOR))
    leases = _count(Assignment.objects.filter(case=OuterRef("pk"), role=Role.ANNOTATOR, state=AssignmentState.ACTIVE))
    due = Q(kind=CaseKind.REVIEW) | Q(pk__in=due_repeats(reviewer).values("pk"))
    return cases.filter(due, state__in=TO_LABEL).annotate(taken=labels + leases).filter(taken__lt=F("labels_wanted"))


def queue_counts(reviewer: Reviewer) -> QueueCounts:
    """Count the cases that wait for ``reviewer``. Three queries.

    The counts are not split by reason: a count of audits that falls when one is claimed would reveal what it is.
    """
    to_label, to_decide = (claimable(reviewer, role).values("pk") for role in (Role.ANNOTATOR, Role.ADJUDICATOR))
    again = Q(state__in=RESUMABLE) & (Q(case__in=to_label) | Q(case__in=to_decide))
    mine = Assignment.objects.filter(Q(state__in=LIVE) | again, reviewer=reviewer)
    return QueueCounts(
        mine=mine.exclude(case__kind=CaseKind.PRACTICE).count(),
        unclaimed=to_label.count(),
        disputes=to_decide.count(),
    )


def _held_now(reviewer: Reviewer) -> Assignment | None:
    rows = Assignment.objects.filter(reviewer=reviewer, state__in=LIVE).exclude(case__kind=CaseKind.PRACTICE)
    return rows.select_related("case", "reviewer").order_by("pk").first()


def _count(rows: QuerySet[Any]) -> Coalesce:
    counted = rows.order_by().values("case").annotate(number=models.Count("pk")).values("number")
    return Coalesce(Subquery(counted), Value(0))


def _in_order(reviewer: Reviewer, role: Role) -> list[int]:
    """Return ids of the first cases for ``reviewer``: by severity, day, and the random rank drawn on creation.

    Cases that the reviewer handed back come last. Repeats are ranked among the most severe: always being first would
    reveal them, and by their own severity they would never come while others wait.
    """
    cases = claimable(reviewer, role)
    severities = cases.filter(kind=CaseKind.REVIEW).order_by().aggregate(highest=models.Max("severity"))
    rank = models.Case(
        models.When(kind=CaseKind.REPEAT, then=Value(severities["highest"] or 0)),
        default=F("severity"),
        output_field=models.IntegerField(),
    )
    returned = Assignment.objects.filter(case=OuterRef("pk"), reviewer=reviewer, state=AssignmentState.RETURNED)
    ordered = cases.annotate(returned=Exists(returned), rank=rank, day=TruncDate("created"))
    return list(ordered.order_by("returned", "-rank", "day", "place", "pk").values_list("pk", flat=True)[:CANDIDATES])


def _try_claim(case_id: int, reviewer: Reviewer, role: Role, *, waits: bool) -> Assignment | None:
    """Lease one case if it is still claimable; return an item that is held already (from a second tab) instead."""
    try:
        with transaction.atomic():
            Reviewer.objects.select_for_update(of=("self",), no_key=True).get(pk=reviewer.pk)
            held_now = _held_now(reviewer)
            if held_now is not None:
                return held_now
            rows = Case.objects.select_for_update(of=("self",), no_key=True, skip_locked=not waits)
            case = rows.filter(pk=case_id).first()
            # Count places only under the lock, so that no other request takes one meanwhile.
            if case is None or not claimable(reviewer, role).filter(pk=case_id).exists():
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


def _reactivate(assignment: Assignment) -> None:
    facts = {"state": AssignmentState.ACTIVE, "token": uuid.uuid4(), "lease_until": lease_end(), "ended": None}
    if not Assignment.objects.filter(pk=assignment.pk, state__in=RESUMABLE).update(**facts):
        raise LeaseLostError(why_lost(assignment))
    assignment.refresh_from_db()
