"""Lock blind labels."""

from __future__ import annotations

import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from reviews.annotators import guidelines
from reviews.annotators.readiness import MissingStepError, unread_guidelines
from reviews.cases import closing, holding, states
from reviews.enums import LIVE, TO_LABEL, AssignmentState, CaseKind, CaseState, Role
from reviews.exceptions import LeaseLostError, NotReadyError
from reviews.labelling import claiming, drafts, items, repeats
from reviews.labelling.findings import Given, clean_label
from reviews.models import Assignment, Review

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reviews.models import Case, Reviewer


def lock(
    *,
    assignment: Assignment,
    label: str,
    confidence: int | None,
    findings: Sequence[Mapping[str, Any]],
    note: str = "",
    active_seconds: float = 0,
) -> Review:
    """Lock a blind label permanently and move its case on. ``active_seconds`` is the time since the last saved draft.

    Sending the same label twice stores it once. After expiry or hand-back, a label is accepted while the case still
    needs one. Raises :class:`IncompleteError` for incomplete input; :class:`NotReadyError` if the guidelines have
    changed; :class:`LeaseLostError` if the case needs no more labels or another label is already locked. The last
    two keep the input as a draft.
    """
    lines = items.line_count(assignment)
    given = clean_label(label=label, confidence=confidence, findings=findings, note=note, lines=lines)
    try:
        with transaction.atomic():
            case = states.hold(assignment.case_id)
            held = Assignment.objects.select_related("reviewer").get(pk=assignment.pk)
            review = _locked_before(case, held, given) or _lock(case, held, given, active_seconds)
    except (LeaseLostError, NotReadyError):
        drafts.keep(assignment, given._asdict())
        raise
    assignment.refresh_from_db(fields=["state", "token", "lease_until", "ended", "active_seconds"])
    return review


def locked_label(assignment: Assignment) -> Review | None:
    """Return the label that was locked for ``assignment``, or None."""
    return Review.objects.filter(assignment=assignment).select_related("guideline").first()


def require_guidelines_read(reviewer: Reviewer) -> None:
    """Raise :class:`NotReadyError`, with the address of the page to visit, while the current guidelines are unread."""
    if step := unread_guidelines(reviewer):
        msg = f"{step.sentence} Your input is kept as a draft; send it afterwards."
        raise MissingStepError(msg, address=step.address)


def _locked_before(case: Case, held: Assignment, given: Given) -> Review | None:
    """Return the label if this lock was already stored; a different label never replaces it."""
    stored = Review.objects.filter(case=case, reviewer=held.reviewer).first()
    if stored is None or Given(stored.label, stored.confidence, stored.findings, stored.note) == given:
        return stored
    msg = f"Your label of this item is locked as {stored.label} and cannot be changed."
    if held.state == AssignmentState.DONE:
        msg += " Take the next item."
    raise LeaseLostError(msg)


def _lock(case: Case, held: Assignment, given: Given, active_seconds: float) -> Review:
    require_guidelines_read(held.reviewer)
    _require_place(case, held)
    now = timezone.now()
    review = Review.objects.create(
        case=case,
        assignment=held,
        reviewer=held.reviewer,
        role=held.role,
        guideline=guidelines.current(),
        active_seconds=held.active_seconds + drafts.counted_seconds(held, active_seconds, now),
        locked=now,
        **given._asdict(),
    )
    if held.role == Role.ADJUDICATOR:
        _start_evidence(case, held, review)
        return review
    Assignment.objects.filter(pk=held.pk).update(
        state=AssignmentState.DONE, lease_until=None, ended=now, active_seconds=review.active_seconds
    )
    closing.close_if_labelled(case, reviewer=held.reviewer)
    transaction.on_commit(partial(repeats.plan_repeat, review))
    return review


def _require_place(case: Case, held: Assignment) -> None:
    """Raise :class:`LeaseLostError` if ``case`` no longer accepts a label from this reviewer."""
    if case.kind == CaseKind.PRACTICE and case.state != CaseState.VOID:
        return
    if held.state in LIVE:
        awaited = (CaseState.ADJUDICATING,) if held.role == Role.ADJUDICATOR else TO_LABEL
        if case.state in awaited:
            return
    elif claiming.claimable(held.reviewer, Role(held.role)).filter(pk=case.pk).exists():
        return
    if held.state == AssignmentState.SKIPPED:
        raise LeaseLostError(holding.why_lost(held))
    msg = (
        "This item no longer accepts your label: other annotators have it, or its review has ended. "
        "Your label is kept as a draft."
    )
    raise LeaseLostError(msg)


def _start_evidence(case: Case, held: Assignment, review: Review) -> None:
    """Let an adjudicator whose blind label is locked decide the case, even after the lease expired."""
    fresh = {} if held.state in LIVE else {"token": uuid.uuid4(), "ended": None}
    Assignment.objects.filter(pk=held.pk).update(
        state=AssignmentState.EVIDENCE,
        lease_until=holding.lease_end(),
        active_seconds=review.active_seconds,
        # From now on the draft is that of the decision.
        draft={field: value for field, value in held.draft.items() if field in {"paper_page", "view"}},
        draft_version=held.draft_version + 1,
        **fresh,
    )
    what = "blind label locked"
    if not states.move(
        case, allowed=[CaseState.DISPUTED], after=CaseState.ADJUDICATING, reviewer=held.reviewer, what=what
    ):
        states.note(case, before=case.state, after=case.state, reviewer=held.reviewer, what=what)
