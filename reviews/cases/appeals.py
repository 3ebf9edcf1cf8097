"""Appeal against a label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db import transaction

from evaluator.enums import RunState
from evaluator.models import TestRun
from reviews.cases import states
from reviews.cases.triggers import NewTrigger, open_case, store_triggers
from reviews.enums import NEWEST_CLOSED, CaseKind, CaseState, Severity, TriggerKind
from reviews.exceptions import ReviewError
from reviews.models import Case, Trigger
from submissions.domain.access import may_manage
from submissions.domain.audit import record
from submissions.enums import Kind, SubmissionState, Verb, Visibility
from submissions.exceptions import NotAllowedError, WrongStateError

if TYPE_CHECKING:
    from submissions.models import Implementation, User

SHORTEST_EVIDENCE: Final = 30
LONGEST_EVIDENCE: Final = 5000

_ENDED: Final = (CaseState.VOID, CaseState.REOPENED)
"""A newest round in these states accepts no triggers. Imports can leave one reopened, since files omit open rounds."""


def appeal(*, actor: User, implementation: Implementation, evidence: str) -> Case:
    """Request another review of an answer's label, with ``evidence``; return the case.

    An open case gets the appeal as a trigger. A closed one is followed by a new round, and its label stays in force
    until that round closes. Raises :class:`NotAllowedError` unless the actor manages the submission (for
    calibration samples, a maintainer); :class:`ReviewError` for evidence that is too short, too long or not new;
    :class:`WrongStateError` for an answer that cannot be labelled now, and for a second appeal against the same round.
    """
    _require_appellant(actor, implementation)
    words = evidence.strip()
    if not SHORTEST_EVIDENCE <= len(words) <= LONGEST_EVIDENCE:
        msg = f"Write {SHORTEST_EVIDENCE} to {LONGEST_EVIDENCE} characters of evidence; this text has {len(words)}."
        raise ReviewError(msg)
    _require_measured(implementation)
    with transaction.atomic():
        rounds = Case.objects.select_for_update().filter(implementation=implementation, kind=CaseKind.REVIEW)
        newest = rounds.order_by("-round").first()
        _require_new_evidence(implementation, words)
        case = _case_for_appeal(newest, implementation, words, actor)
        record(
            verb=Verb.APPEALED,
            subject=implementation,
            actor=actor,
            reason=words,
            data={"case": case.pk, "round": case.round},
        )
    return case


def _require_appellant(actor: User, implementation: Implementation) -> None:
    sample = implementation.submission.kind == Kind.CALIBRATION
    if actor.is_staff or (may_manage(actor, implementation.submission) and not sample):
        return
    msg = "Only maintainers and the submission's owner may appeal, and only maintainers against a sample's label."
    raise NotAllowedError(msg)


def _require_measured(implementation: Implementation) -> None:
    submission = implementation.submission
    measured = TestRun.objects.current().filter(implementation=implementation, state=RunState.DONE)
    if submission.state != SubmissionState.SCORED or not (implementation.attempted and measured.exists()):
        msg = "This answer has not been evaluated, or has no code, so there is no label to appeal against."
        raise WrongStateError(msg)
    public = submission.visibility == Visibility.PUBLISHED and submission.code_licence
    if not public and submission.kind == Kind.RANKED:
        msg = "Publish the submission first: only answers with public code are reviewed."
        raise WrongStateError(msg)


def _require_new_evidence(implementation: Implementation, evidence: str) -> None:
    earlier = Trigger.objects.filter(case__implementation=implementation, kind=TriggerKind.APPEAL)
    if _normalised(evidence) in {_normalised(detail) for detail in earlier.values_list("detail", flat=True)}:
        msg = "An earlier appeal had the same evidence. Give new evidence."
        raise ReviewError(msg)


def _normalised(text: str) -> str:
    return " ".join(text.split()).casefold()


def _case_for_appeal(newest: Case | None, implementation: Implementation, evidence: str, actor: User) -> Case:
    """Return the case for the appeal: the newest round while it is open, else the next one."""
    found = NewTrigger(TriggerKind.APPEAL, Severity.APPEAL, evidence, raised_by=actor.pk)
    before = list(newest.triggers.order_by("pk")) if newest else []
    if newest and newest.state in NEWEST_CLOSED:
        # A round's first trigger opened it, so an appeal there was against the previous round.
        if any(trigger.kind == TriggerKind.APPEAL and trigger.raised_by_id == actor.pk for trigger in before[1:]):
            msg = "This round has already decided your appeal. Others may appeal with new evidence."
            raise WrongStateError(msg)
        states.move(newest, allowed=NEWEST_CLOSED, after=CaseState.REOPENED, what="an appeal opened the next round")
        states.announce(newest)
    elif newest and newest.state not in _ENDED:
        if any(trigger.kind == TriggerKind.APPEAL for trigger in before):
            msg = "An appeal against this label is already under review. Wait for its decision."
            raise WrongStateError(msg)
        store_triggers(newest, [found])
        return newest
    case = open_case(implementation.pk, [found], round_=newest.round + 1 if newest else 1)
    if case is None:
        msg = "The review of this answer has just changed. Reload the page and check whether you still want to appeal."
        raise WrongStateError(msg)
    return case
