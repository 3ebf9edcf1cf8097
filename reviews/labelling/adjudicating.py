"""Decide disputed cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from django.db import transaction
from django.utils import timezone

from evaluator.labels import Label
from reviews.annotators import guidelines
from reviews.cases import flags, states
from reviews.enums import AssignmentState, CaseState, FinalSource, ReasonCode, Role
from reviews.exceptions import IncompleteError, LeaseLostError, NotReadyError
from reviews.labelling import claiming, drafts
from reviews.labelling.findings import LABELS, LONGEST_NOTE
from reviews.labelling.locking import require_guidelines_read
from reviews.models import Assignment, Case, Decision, Review
from submissions.domain.audit import record
from submissions.enums import Verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviews.models import Reviewer

SHORTEST_NOTE: Final = 10


class _Given(NamedTuple):
    label: str
    reasons: list[str]
    note: str


def decide(*, assignment: Assignment, label: str, reasons: Sequence[str], note: str) -> Decision:
    """Close a disputed case with its final label and the reasons why the raters differed.

    Sending the same decision twice stores it once. An expired lease is accepted unless another adjudicator has claimed
    the case. "Bad test" and "bad golden function" flag the task. Raises :class:`IncompleteError` for incomplete input;
    :class:`NotReadyError` before the adjudicator's blind label is locked, and if the guidelines have changed;
    :class:`LeaseLostError` if the case is decided, or held by another adjudicator. The last two keep the input as a
    draft.
    """
    given = _clean(label, reasons, note)
    try:
        return _decide(assignment, given)
    except (LeaseLostError, NotReadyError):
        drafts.keep(assignment, {"decision": given._asdict()})
        raise


def _clean(label: str, reasons: Sequence[str], note: str) -> _Given:
    errors = {}
    if label not in LABELS:
        errors["label"] = "Choose the final label."
    if not reasons or any(reason not in ReasonCode.values for reason in reasons):
        errors["reasons"] = "Choose why the raters differed."
    elif label == Label.LI and ReasonCode.EQUIVALENT in reasons:
        errors["reasons"] = "An equivalent implementation cannot be logically incorrect. Choose other reasons or label."
    if not SHORTEST_NOTE <= len(note.strip()) <= LONGEST_NOTE:
        errors["note"] = f"Explain the decision in {SHORTEST_NOTE} to {LONGEST_NOTE} characters: it is public."
    if errors:
        raise IncompleteError(errors)
    return _Given(label, [code for code in ReasonCode.values if code in reasons], note)


def _decide(assignment: Assignment, given: _Given) -> Decision:
    with transaction.atomic():
        case = states.hold(assignment.case_id)
        held = Assignment.objects.select_related("reviewer__user").get(pk=assignment.pk)
        stored = Decision.objects.filter(case=case).first()
        if stored is not None:
            return _existing_decision(stored, given, held.reviewer)
        _require_access(case, held)
        require_guidelines_read(held.reviewer)
        now = timezone.now()
        decision = Decision.objects.create(
            case=case, adjudicator=held.reviewer, guideline=guidelines.current(), decided=now, **given._asdict()
        )
        Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.DONE, lease_until=None, ended=now)
        states.move(
            case,
            allowed=[CaseState.ADJUDICATING, CaseState.DISPUTED],
            after=CaseState.FINAL,
            reviewer=held.reviewer,
            what=f"decided: {', '.join(given.reasons)}",
            label=given.label,
            source=FinalSource.DECISION,
            closed=now,
        )
        record(
            verb=Verb.DECIDED,
            subject=case,
            actor=held.reviewer.user,
            reason=given.note,
            data={"label": given.label, "reasons": given.reasons},
        )
        flags.flag_task(decision)
        states.announce(case)
    assignment.refresh_from_db(fields=["state", "lease_until", "ended"])
    return decision


def _existing_decision(stored: Decision, given: _Given, reviewer: Reviewer) -> Decision:
    if stored.adjudicator_id != reviewer.pk:
        msg = "Another adjudicator has decided this case. Your note is kept as a draft. Take the next case."
        raise LeaseLostError(msg)
    if _Given(stored.label, stored.reasons, stored.note) != given:
        msg = f"You have decided this case as {stored.label}; a decision cannot be changed. Take the next case."
        raise LeaseLostError(msg)
    return stored


def _require_access(case: Case, held: Assignment) -> None:
    """Raise :class:`NotReadyError` or :class:`LeaseLostError` if ``held`` does not allow deciding ``case`` now."""
    if not Review.objects.filter(assignment=held, role=Role.ADJUDICATOR).exists():
        msg = "Lock your own label first, before you see the others' labels."
        raise NotReadyError(msg)
    if held.state == AssignmentState.EVIDENCE:
        if case.state == CaseState.ADJUDICATING:
            return
    elif claiming.claimable(held.reviewer, Role.ADJUDICATOR).filter(pk=case.pk).exists():
        return
    msg = (
        "You no longer hold this case: another adjudicator has it, or its review has ended. "
        "Your note is kept as a draft."
    )
    raise LeaseLostError(msg)
