"""Determine the final labels of answers and their sources (docs/design/verdicts.md)."""

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
    """``CC``, ``LC`` or ``LI`` and its source. ``case`` is its round, ``None`` for the judge's label."""

    label: str
    source: FinalSource
    case: Case | None = None


def final_labels(implementation_ids: Collection[int], judge: JudgeConfig | None) -> dict[int, FinalLabel]:
    """Map answer ids to final labels: the decision, two equal labels, a single annotator's, or the ``judge``'s.

    The newest closed round counts, so an appeal changes nothing before its round is closed. Answers without any label,
    or with only an abstention, are missing. Three queries for any number of answers.
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
    """Map answer ids to the final labels of annotators and adjudicators; two queries.

    Labels of open cases do not count, since another reviewer must still label the answer blind.
    """
    closed = (
        Case.objects.filter(implementation__in=implementation_ids, kind=CaseKind.REVIEW, state__in=CLOSED)
        .select_related("decision")
        .prefetch_related(Prefetch("reviews", Review.objects.filter(role=Role.ANNOTATOR), to_attr="blind_labels"))
        .order_by("round")
    )
    # The newest round with a label comes last and overwrites earlier ones.
    return {case.implementation_id: found for case in closed if (found := _of_round(case)) is not None}


def _of_round(case: Case) -> FinalLabel | None:
    decision = getattr(case, "decision", None)
    if decision is not None:
        return FinalLabel(decision.label, FinalSource.DECISION, case)
    labels = [review.label for review in getattr(case, "blind_labels", [])]
    if len(set(labels)) != 1:
        return None
    return FinalLabel(labels[0], FinalSource.AGREED if len(labels) > 1 else FinalSource.SINGLE, case)
