"""Appeals against a label."""

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

_OVER: Final = (CaseState.VOID, CaseState.REOPENED)
"""A newest round in these takes nothing more. An import may leave one reopened: files hold no round that is open."""


def appeal(*, actor: User, implementation: Implementation, evidence: str) -> Case:
    """Have an answer's label looked at again, for ``evidence``; the case that does so.

    An open case takes the appeal as a trigger, a closed one makes room for the next round, and its label stays in
    force until that is closed. Raises :class:`NotAllowedError` for others than the submission's owner (a calibration
    sample's: than maintainers) and maintainers, :class:`ReviewError` for evidence that is too short, too long or not
    new, :class:`WrongStateError` for what cannot be labelled now, and for a second appeal against the same round.
    """
    _require_appellant(actor, implementation)
    words = evidence.strip()
    if not SHORTEST_EVIDENCE <= len(words) <= LONGEST_EVIDENCE:
        msg = f"Write {SHORTEST_EVIDENCE} to {LONGEST_EVIDENCE} characters of evidence; these are {len(words)}."
        raise ReviewError(msg)
    _require_measured(implementation)
    with transaction.atomic():
        rounds = Case.objects.select_for_update().filter(implementation=implementation, kind=CaseKind.REVIEW)
        newest = rounds.order_by("-round").first()
        _require_news(implementation, words)
        case = _heard(newest, implementation, words, actor)
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
        msg = "This answer has not been measured, or has no code, so there is no label to appeal against."
        raise WrongStateError(msg)
    public = submission.visibility == Visibility.PUBLISHED and submission.code_licence
    if not public and submission.kind == Kind.RANKED:
        msg = "Publish the submission first: answers are reviewed when everybody may read their code."
        raise WrongStateError(msg)


def _require_news(implementation: Implementation, evidence: str) -> None:
    earlier = Trigger.objects.filter(case__implementation=implementation, kind=TriggerKind.APPEAL)
    if _squeezed(evidence) in {_squeezed(detail) for detail in earlier.values_list("detail", flat=True)}:
        msg = "An earlier appeal brought the same evidence. Bring new evidence."
        raise ReviewError(msg)


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()


def _heard(newest: Case | None, implementation: Implementation, evidence: str, actor: User) -> Case:
    """The case that hears the appeal: the newest round while it is open, else the next one."""
    found = NewTrigger(TriggerKind.APPEAL, Severity.APPEAL, evidence, raised_by=actor.pk)
    before = list(newest.triggers.order_by("pk")) if newest else []
    if newest and newest.state in NEWEST_CLOSED:
        # The first trigger of a round is what opened it: such an appeal was against the round before.
        if any(trigger.kind == TriggerKind.APPEAL and trigger.raised_by_id == actor.pk for trigger in before[1:]):
            msg = "Your appeal was heard in this round already. Somebody else may bring new evidence."
            raise WrongStateError(msg)
        states.move(newest, allowed=NEWEST_CLOSED, after=CaseState.REOPENED, what="an appeal opened the next round")
        states.announce(newest)
    elif newest and newest.state not in _OVER:
        if any(trigger.kind == TriggerKind.APPEAL for trigger in before):
            msg = "An appeal against this label is being looked at already. Wait for its decision."
            raise WrongStateError(msg)
        store_triggers(newest, [found])
        return newest
    case = open_case(implementation.pk, [found], round_=newest.round + 1 if newest else 1)
    if case is None:
        msg = "The review of this answer has changed just now. Reload the page and look whether you still appeal."
        raise WrongStateError(msg)
    return case
