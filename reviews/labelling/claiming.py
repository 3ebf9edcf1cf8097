"""Taking a case to work on, keeping it, and letting go of it.

A reviewer works on one case at a time. Whoever takes one holds it by a lease, which heartbeats renew; nobody else gets
that place until the lease has run out *and* was ended by :func:`expire`, so a late heartbeat loses nothing. Drafts
outlive every ending.
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
from reviews.enums import LET_GO, LIVE, TO_LABEL, AssignmentState, CaseKind, CaseState, Role
from reviews.exceptions import LeaseLostError
from reviews.labelling.repeats import due_repeats
from reviews.models import Assignment, Case, Review, Reviewer

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

    from submissions.models import User

CANDIDATES: Final = 20
"""How many cases are tried at once before the queue is read again: others may be faster at some."""


def own_assignment(user: User | AnonymousUser, pk: int) -> Assignment:
    """Return an assignment of ``user``'s, in any state. Raises Http404 for other annotators' ones."""
    reviewer = reviewer_of(user)
    own = Assignment.objects.select_related("case", "reviewer").filter(pk=pk, reviewer=reviewer).first()
    if reviewer is None or own is None:
        raise Http404("There is no such item.")
    return own


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How many cases wait for one reviewer. ``mine``: held, or let go of and still to be taken up again."""

    mine: int
    unclaimed: int
    disputes: int


def claim(*, reviewer: Reviewer, role: Role) -> Assignment | None:
    """What ``reviewer`` is to work on: the case at hand, in whatever role, else the first one that is waiting.

    ``None`` when nothing waits. Raises :class:`NotReadyError` when something is to be done before.
    """
    require_ready(reviewer, role)
    held_now = _held_now(reviewer)
    if held_now is not None and renew(held_now):
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


def workable(reviewer: Reviewer, role: Role) -> QuerySet[Case]:
    """The cases that ``reviewer`` could take now in ``role``: open, with a place left, and not done or skipped."""
    if role not in reviewer.roles:
        return Case.objects.none()
    over = Assignment.objects.filter(case=OuterRef("pk"), reviewer=reviewer).exclude(state__in=LET_GO)
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
    again = Q(state__in=LET_GO) & (Q(case__in=to_label) | Q(case__in=to_decide))
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
    """Ids of the first cases for ``reviewer``: by severity, then day, then at random, as drawn when they were made.

    What the reviewer handed back comes last. A repeat stands among the most severe: it would tell what it is by coming
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
    if not Assignment.objects.filter(pk=assignment.pk, state__in=LET_GO).update(**facts):
        raise LeaseLostError(why_lost(assignment))
    assignment.refresh_from_db()
