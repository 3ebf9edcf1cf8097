"""Look up the unit test outcomes and judges' verdicts of answers, which cases are opened for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.db.models import BooleanField, Case, F, Q, When

from evaluator.enums import RunState, WorkState
from evaluator.labels import Label
from evaluator.models import Judgement, TestRun
from submissions.enums import Kind

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

_SHOWN: Final = F("implementation__submission__suite_version__suite__shown_judge__config")


@dataclass(frozen=True, slots=True)
class Rating:
    """One answer's newest test outcome (empty: none, or an infrastructure error) and its judge's verdict.

    ``label`` is empty if the judge abstained or has not ``decided``; ``doubts`` are the reasons why it is unsure.
    ``measured`` is the time of the outcome, ``again`` whether it is from a re-evaluation.
    """

    outcome: str = ""
    measured: datetime | None = None
    again: bool = False
    decided: bool = False
    label: str = ""
    doubts: tuple[str, ...] = ()


def steps_between(one: str, other: str) -> int:
    """Return the distance of two labels: 0, 1 (LC and either neighbour) or 2 (CC and LI)."""
    order = list(Label)
    return abs(order.index(Label(one)) - order.index(Label(other)))


def ratings_of(answers: Collection[int]) -> dict[int, Rating]:
    """Map answer ids to ratings. Two queries for any number of answers.

    The judge is the one shown on the suite's board, or, if that has not decided, the oldest active one that has.
    """
    runs = _newest_runs(answers)
    judgements = _judgements(answers)
    return {pk: _rating(runs.get(pk), judgements.get(pk)) for pk in answers}


def _newest_runs(answers: Collection[int]) -> dict[int, TestRun]:
    runs = (
        TestRun.objects.current()
        .filter(implementation__in=answers, state=RunState.DONE)
        .order_by("pk")
        .only("implementation_id", "outcome", "finished", "supersedes_id")
    )
    return {run.implementation_id: run for run in runs}


def _judgements(answers: Collection[int]) -> dict[int, Judgement]:
    decided = (
        Judgement.objects.filter(implementation__in=answers, state=WorkState.DONE)
        .filter(Q(config__active=True) | Q(config=_SHOWN) | Q(implementation__submission__kind=Kind.CALIBRATION))
        .annotate(is_shown=Case(When(config=_SHOWN, then=True), default=False, output_field=BooleanField()))
        .order_by("is_shown", "config__active", "-config_id")
    )
    # Later rows overwrite earlier ones: the oldest judge comes late, the shown judge last.
    return {row.implementation_id: row for row in decided}


def _rating(run: TestRun | None, judgement: Judgement | None) -> Rating:
    label = "" if judgement is None or judgement.abstained else judgement.label
    return Rating(
        outcome=run.outcome if run else "",
        measured=run.finished if run else None,
        again=bool(run and run.supersedes_id),
        decided=judgement is not None,
        label=label,
        doubts=_doubts(judgement) if judgement else (),
    )


def _doubts(judgement: Judgement) -> tuple[str, ...]:
    doubts = (
        (judgement.split, "its votes were split"),
        (judgement.abstained or not judgement.label, "it abstained"),
        (judgement.injection_suspected, "it suspects text written to influence judges"),
        (judgement.surface_sensitive, "its label changes with the comments"),
    )
    return tuple(words for holds, words in doubts if holds)
