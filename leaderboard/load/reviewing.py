"""Make up the cases of judged answers, with their annotators' labels and decisions."""

from __future__ import annotations

import uuid
from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from evaluator.labels import Label
from leaderboard.load.copying import copy_instances, reserve
from reviews.annotators.guidelines import current
from reviews.cases.ratings import Rating
from reviews.cases.triggers import triggers_of
from reviews.enums import AssignmentState, CaseState, Confidence, FinalSource, ReasonCode, Role
from reviews.models import Assignment, Case, CaseEvent, Decision, Review, Reviewer, Trigger

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from datetime import datetime

    from django.db import models

    from reviews.cases.triggers import NewTrigger

ANNOTATORS: Final = 12
ADJUDICATORS: Final = 2
_COURSES: Final = {
    # The states that a case went through after it was opened -> the share of cases.
    (): 0.2,
    (CaseState.LEASED, CaseState.ONE_LABEL): 0.08,
    (CaseState.LEASED, CaseState.ONE_LABEL, CaseState.TWO_LABELS, CaseState.DISPUTED): 0.07,
    (CaseState.LEASED, CaseState.ONE_LABEL, CaseState.TWO_LABELS, CaseState.AGREED): 0.45,
    (
        *(CaseState.LEASED, CaseState.ONE_LABEL, CaseState.TWO_LABELS, CaseState.DISPUTED),
        *(CaseState.ADJUDICATING, CaseState.FINAL),
    ): 0.2,
}
_STEP: Final = timedelta(hours=7)
_ORDER: Final = tuple(label.value for label in Label)


class Judged(NamedTuple):
    """A judged answer that may be reviewed: number, test outcome, the judge's label, and when it was judged."""

    answer: int
    outcome: str
    label: str
    judged: datetime


def add_cases(answers: Sequence[Judged], reviewers: Sequence[Reviewer], chance: random.Random) -> int:
    """Store a case of each of ``answers`` that the site would open one of; return how many.

    ``reviewers`` are first the annotators, then the adjudicators.
    """
    found = [(each, triggers) for each in answers if (triggers := _triggers(each))]
    first = reserve({Case: len(found)})[Case]
    rows: dict[type[models.Model], list[models.Model]] = defaultdict(list)
    for pk, (answer, triggers) in enumerate(found, first):
        _add_case(rows, pk, answer, triggers, reviewers, chance)
    for model, instances in rows.items():
        if model is not Case:
            numbers = reserve({model: len(instances)})[model]
            for pk, each in enumerate(instances, numbers):
                each.pk = pk
    for model in (Case, Trigger, CaseEvent, Assignment, Review, Decision):
        for each in rows[model]:
            if isinstance(each, Review) and each.assignment is not None:
                each.assignment_id = each.assignment.pk
        copy_instances(model, rows[model])
    return len(found)


def _triggers(answer: Judged) -> list[NewTrigger]:
    doubts = () if answer.label else ("it abstained",)
    return triggers_of(
        answer.answer, Rating(answer.outcome, answer.judged, decided=True, label=answer.label, doubts=doubts)
    )


def _add_case(
    rows: dict[type[models.Model], list[models.Model]],
    pk: int,
    answer: Judged,
    triggers: Sequence[NewTrigger],
    reviewers: Sequence[Reviewer],
    chance: random.Random,
) -> None:
    (course,) = chance.choices(list(_COURSES), weights=list(_COURSES.values()))
    labels = _labels(course, answer.label, chance)
    state = course[-1] if course else CaseState.QUEUED
    final = labels[0] if state in {CaseState.AGREED, CaseState.FINAL} else ""
    ended = answer.judged + len(course) * _STEP
    case = Case(
        pk=pk,
        identifier=_uuid(chance),
        implementation_id=answer.answer,
        state=state,
        severity=max(trigger.severity for trigger in triggers),
        place=chance.randrange(2**31),
        label=final,
        source=_source(state),
        created=answer.judged,
        closed=ended if final else None,
    )
    rows[Case].append(case)
    for trigger in triggers:
        share = trigger.inclusion_probability
        rows[Trigger].append(
            Trigger(
                case=case, kind=trigger.kind, detail=trigger.detail, inclusion_probability=share, created=case.created
            )
        )
    before = ""
    for place, after in enumerate((CaseState.QUEUED, *course)):
        rows[CaseEvent].append(CaseEvent(case=case, before=before, after=after, created=case.created + place * _STEP))
        before = after
    for place, (label, reviewer) in enumerate(zip(labels, chance.sample(reviewers[:ANNOTATORS], 2), strict=False)):
        rows[Review].append(_review(case, reviewer, label, case.created + (place + 2) * _STEP, chance))
        rows[Assignment].append(rows[Review][-1].assignment)  # type: ignore[attr-defined]
    if state == CaseState.FINAL:
        rows[Decision].append(
            Decision(
                identifier=_uuid(chance),
                case=case,
                adjudicator=chance.choice(reviewers[ANNOTATORS:]),
                label=final,
                reasons=[chance.choice([ReasonCode.ANNOTATOR_SLIP.value, ReasonCode.JUDGE_ERROR.value])],
                note="The denominator is taken over the whole batch, as in equation 3.",
                guideline=current(),
                decided=ended,
            )
        )


def _labels(course: Sequence[CaseState], judge: str, chance: random.Random) -> list[str]:
    """Draw the annotators' labels: two equal ones if they agree, different ones if the case is disputed."""
    if not course:
        return []
    one = judge if judge and chance.random() < 0.7 else chance.choice(_ORDER)
    if course[-1] == CaseState.ONE_LABEL:
        return [one]
    return [one, one if course[-1] == CaseState.AGREED else chance.choice([each for each in _ORDER if each != one])]


def _source(state: CaseState) -> str:
    sources = {CaseState.AGREED: FinalSource.AGREED, CaseState.FINAL: FinalSource.DECISION}
    return sources[state].value if state in sources else ""


def _review(case: Case, reviewer: Reviewer, label: str, locked: datetime, chance: random.Random) -> Review:
    seconds = chance.randrange(60, 900)
    assignment = Assignment(
        case=case,
        reviewer=reviewer,
        state=AssignmentState.DONE,
        token=_uuid(chance),
        active_seconds=seconds,
        created=locked - timedelta(seconds=seconds),
        ended=locked,
    )
    return Review(
        identifier=_uuid(chance),
        case=case,
        assignment=assignment,
        reviewer=reviewer,
        role=Role.ANNOTATOR,
        label=label,
        confidence=chance.choice(list(Confidence)),
        note="The sum runs over the tokens and not over the sequences.",
        guideline=current(),
        active_seconds=seconds,
        locked=locked,
    )


def _uuid(chance: random.Random) -> uuid.UUID:
    return uuid.UUID(int=chance.getrandbits(128), version=4)
