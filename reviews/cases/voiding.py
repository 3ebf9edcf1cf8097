"""Ending reviews that cannot go on, and taking them up again where they were left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from reviews.cases import states
from reviews.enums import LIVE, NEWEST_CLOSED, OPEN, AssignmentState, CaseKind, CaseState, Role
from reviews.exceptions import ReviewError
from reviews.models import Assignment, Case, CaseEvent
from submissions.domain.audit import record
from submissions.enums import Kind, Verb
from submissions.exceptions import NotAllowedError, WrongStateError

if TYPE_CHECKING:
    from datetime import datetime

    from submissions.models import User

SHORTEST_REASON: Final = 10
_NOT_PUBLIC: Final = "its submission is not public any more"


def end(case: Case, *, what: str, allowed: tuple[CaseState, ...] = OPEN) -> bool:
    """Make a case void and end its leases; say whether it was in one of the ``allowed`` states. Labels stay."""
    with transaction.atomic():
        case.state = states.hold(case.pk).state
        if not states.move(
            case, allowed=allowed, after=CaseState.VOID, what=what[:200], label="", source="", closed=None
        ):
            return False
        held = Assignment.objects.filter(case=case, state__in=LIVE)
        held.update(state=AssignmentState.RETURNED, lease_until=None, ended=timezone.now())
        states.announce(case)
    return True


def void(*, actor: User, case: Case, reason: str) -> None:
    """End a review that cannot be judged, such as after an infrastructure error. Labels stay stored.

    Raises :class:`NotAllowedError` for others than maintainers, :class:`ReviewError` without a reason of
    :data:`SHORTEST_REASON` characters, :class:`WrongStateError` when the case is void already, or an older round.
    """
    if not actor.is_staff:
        msg = "Only maintainers make a case void."
        raise NotAllowedError(msg)
    words = reason.strip()
    if len(words) < SHORTEST_REASON:
        msg = f"Say why, in at least {SHORTEST_REASON} characters: the reason is kept with the case."
        raise ReviewError(msg)
    with transaction.atomic():
        ended = case.kind != CaseKind.PRACTICE and end(case, what=words, allowed=(*OPEN, *NEWEST_CLOSED))
        if not ended:
            case.refresh_from_db()
            msg = f"Case {case.pk} is {case.get_state_display()}, so it cannot be made void. Reload the page."
            raise WrongStateError(msg)
        record(verb=Verb.VOIDED, subject=case, actor=actor, reason=words)


def end_of_submission(submission_id: int) -> int:
    """Make the open cases of a submission void because it is not public any more; say how many."""
    cases = Case.objects.filter(implementation__submission=submission_id, state__in=OPEN)
    return sum(end(case, what=_NOT_PUBLIC) for case in cases.exclude(kind=CaseKind.PRACTICE).order_by("pk"))


def revive_asked_for(submission_id: int) -> int:
    """Take up what was void because the submission was not public, and what no rating opens again; say how many.

    These are repeats, and the newest rounds of a calibration sample.
    """
    void = Case.objects.filter(implementation__submission=submission_id, state=CaseState.VOID)
    later = Case.objects.filter(
        implementation=OuterRef("implementation"), kind=CaseKind.REVIEW, round__gt=OuterRef("round")
    )
    sample = Q(kind=CaseKind.REVIEW, implementation__submission__kind=Kind.CALIBRATION) & ~Exists(later)
    cases = void.filter(Q(kind=CaseKind.REPEAT) | sample).order_by("pk")
    return sum(revive(case) for case in cases if is_revivable(case))


def is_revivable(case: Case) -> bool:
    """Whether a void case was ended only because its submission was not public."""
    newest = _newest_voiding(case)
    return newest is not None and newest.what == _NOT_PUBLIC


def voided_at(case: Case) -> datetime:
    """When a void case was made void."""
    newest = _newest_voiding(case)
    return newest.created if newest else case.created


def revive(case: Case) -> bool:
    """Put a void case back to where its labels leave it; say whether it was void still.

    With all its labels and no end it had been disputed.
    """
    labels = case.reviews.filter(role=Role.ANNOTATOR).count()
    after = CaseState.ONE_LABEL if labels else CaseState.QUEUED
    if labels >= case.labels_wanted:
        after = CaseState.DISPUTED
    return states.move(case, allowed=[CaseState.VOID], after=after, what="its submission is public again")


def _newest_voiding(case: Case) -> CaseEvent | None:
    known: list[CaseEvent] | None = getattr(case, "voidings", None)
    if known is not None:
        return known[0] if known else None
    return case.events.filter(after=CaseState.VOID).order_by("-pk").first()
