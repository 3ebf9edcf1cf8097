"""The final label of an answer, and whose it is (docs/design/verdicts.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Prefetch

from evaluator.enums import WorkState
from evaluator.models import Judgement
from reviews.enums import CLOSED, CaseKind, FinalSource, Role
from reviews.models import Case, Review

if TYPE_CHECKING:
    from collections.abc import Collection

    from evaluator.models import JudgeConfig


@dataclass(frozen=True, slots=True)
class FinalLabel:
    """``CC``, ``LC`` or ``LI``, and whose. ``case`` is the round it comes from; ``None`` for the judge's."""

    label: str
    source: FinalSource
    case: Case | None = None


def final_labels(implementation_ids: Collection[int], judge: JudgeConfig | None) -> dict[int, FinalLabel]:
    """Answer's id -> its final label: decision, else two that agree, else a single annotator's, else the ``judge``'s.

    The newest closed round counts, so that an appeal changes nothing before it is closed. Answers on which nobody
    has said anything, or of which the judge abstained, are missing. Three queries, however many answers.
    """
    found = reviewed_labels(implementation_ids)
    if judge is None:
        return found
    judged = Judgement.objects.filter(
        config=judge, implementation__in=implementation_ids, state=WorkState.DONE, abstained=False
    ).exclude(label="")
    for answer, label in judged.values_list("implementation_id", "label"):
        found.setdefault(answer, FinalLabel(label, FinalSource.JUDGE))
    return found


def reviewed_labels(implementation_ids: Collection[int]) -> dict[int, FinalLabel]:
    """The final labels that annotators and adjudicators gave; two queries.

    Labels of open cases count nowhere, since somebody is to label the same answer blind.
    """
    closed = (
        Case.objects.filter(implementation__in=implementation_ids, kind=CaseKind.REVIEW, state__in=CLOSED)
        .select_related("decision")
        .prefetch_related(Prefetch("reviews", Review.objects.filter(role=Role.ANNOTATOR), to_attr="blind_labels"))
        .order_by("round")
    )
    # The newest round that says something is written last.
    return {case.implementation_id: said for case in closed if (said := _of_round(case)) is not None}


def _of_round(case: Case) -> FinalLabel | None:
    decision = getattr(case, "decision", None)
    if decision is not None:
        return FinalLabel(decision.label, FinalSource.DECISION, case)
    labels = [review.label for review in getattr(case, "blind_labels", [])]
    if len(set(labels)) != 1:
        return None
    return FinalLabel(labels[0], FinalSource.AGREED if len(labels) > 1 else FinalSource.SINGLE, case)
