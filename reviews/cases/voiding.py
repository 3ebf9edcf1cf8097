"""Void cases that cannot be reviewed, and revive them if their submission is public again."""

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
    """Void a case in an ``allowed`` state and end its leases; return whether it was in one. Labels stay stored."""
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
    """End a review that cannot be completed, such as after an infrastructure error. Labels stay stored.

    Raises :class:`NotAllowedError` for non-maintainers, :class:`ReviewError` without a reason of
    :data:`SHORTEST_REASON` characters, :class:`WrongStateError` if the case is already void or an older round.
    """
    if not actor.is_staff:
        msg = "Only maintainers may end a review."
        raise NotAllowedError(msg)
    words = reason.strip()
    if len(words) < SHORTEST_REASON:
        msg = f"Give a reason of at least {SHORTEST_REASON} characters: it is kept with the case."
        raise ReviewError(msg)
    with transaction.atomic():
        ended = case.kind != CaseKind.PRACTICE and end(case, what=words, allowed=(*OPEN, *NEWEST_CLOSED))
        if not ended:
            case.refresh_from_db()
            msg = f"Case {case.pk} is {case.get_state_display()}, so its review cannot be ended. Reload the page."
            raise WrongStateError(msg)
        record(verb=Verb.VOIDED, subject=case, actor=actor, reason=words)


def end_of_submission(submission_id: int) -> int:
    """Void the open cases of a submission that is no longer public; return how many."""
    cases = Case.objects.filter(implementation__submission=submission_id, state__in=OPEN)
    return sum(end(case, what=_NOT_PUBLIC) for case in cases.exclude(kind=CaseKind.PRACTICE).order_by("pk"))


def revive_unrated(submission_id: int) -> int:
    """Revive cases voided with their submission that no rating would reopen; return how many.

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
    """Return whether a void case was voided only because its submission was not public."""
    newest = _newest_voiding(case)
    return newest is not None and newest.what == _NOT_PUBLIC


def voided_at(case: Case) -> datetime:
    """Return when a void case was voided."""
    newest = _newest_voiding(case)
    return newest.created if newest else case.created


def revive(case: Case) -> bool:
    """Return a void case to the state that its labels require; return whether it was still void.

    A case with all its labels that was not closed had been disputed.
    """
    labels = case.reviews.filter(role=Role.ANNOTATOR).count()
    after = CaseState.ONE_LABEL if labels else CaseState.QUEUED
    if labels >= case.labels_wanted:
        after = CaseState.DISPUTED
    moved = states.move(case, allowed=[CaseState.VOID], after=after, what="its submission is public again")
    if moved:
        states.announce(case)
    return moved


def _newest_voiding(case: Case) -> CaseEvent | None:
    known: list[CaseEvent] | None = getattr(case, "voidings", None)
    if known is not None:
        return known[0] if known else None
    return case.events.filter(after=CaseState.VOID).order_by("-pk").first()
