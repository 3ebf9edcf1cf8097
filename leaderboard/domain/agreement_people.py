"""What people said of published answers: blind labels and decisions of settled cases. Open cases say nothing yet."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from django.db.models import Prefetch

from reviews.domain.triggers import eligible
from reviews.enums import CaseKind, CaseState, FinalSource, Role, TriggerKind
from reviews.models import Case, Review, Trigger

if TYPE_CHECKING:
    from collections.abc import Collection

_SETTLED: Final = (CaseState.AGREED, CaseState.FINAL, CaseState.REOPENED)
_BY_PEOPLE: Final = (FinalSource.AGREED, FinalSource.DECISION)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """By the answers' ids: the first two annotators' blind labels in the earliest round, all annotators' there
    (``people``, by reviewer), the newest decision, and the newest final label that people settled (``truth``).

    ``cases`` has the newest settled round. ``reviewable`` are the answers that the random audit draws from, ``audited``
    those that it drew, with the probability of that.
    """

    first: dict[int, str] = field(default_factory=dict)
    second: dict[int, str] = field(default_factory=dict)
    decisions: dict[int, str] = field(default_factory=dict)
    truth: dict[int, str] = field(default_factory=dict)
    cases: dict[int, int] = field(default_factory=dict)
    people: dict[int, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    reviewable: set[int] = field(default_factory=set)
    audited: dict[int, float] = field(default_factory=dict)


def read_reviews(entries: Collection[int], answers: Collection[int]) -> Reviewed:
    """What people said of ``answers``, which belong to the submissions with these board rows. Four queries."""
    said = Reviewed()
    drawn_from = eligible().filter(submission__entry__in=entries).order_by("pk").values_list("pk", flat=True)
    said.reviewable.update(pk for pk in drawn_from if pk in answers)
    cases = (
        Case.objects.filter(implementation__submission__entry__in=entries, kind=CaseKind.REVIEW)
        .exclude(state=CaseState.VOID)
        .select_related("decision")
        .prefetch_related(
            Prefetch("reviews", Review.objects.filter(role=Role.ANNOTATOR).order_by("locked", "pk"), to_attr="blind"),
            Prefetch("triggers", Trigger.objects.filter(kind=TriggerKind.AUDIT), to_attr="audits"),
        )
        .order_by("implementation_id", "round")
    )
    begun: set[int] = set()
    for case in cases:
        answer = case.implementation_id
        if answer not in answers:
            continue
        for audit in getattr(case, "audits", []):
            said.audited[answer] = audit.inclusion_probability
        if case.state in _SETTLED:
            _add_settled(said, case, earliest=answer not in begun)
        begun.add(answer)
    return said


def _add_settled(said: Reviewed, case: Case, *, earliest: bool) -> None:
    """Rounds come in order: what a later one says of the outcome replaces what an earlier one did."""
    answer = case.implementation_id
    said.cases[answer] = case.pk
    if case.label and case.source in _BY_PEOPLE:
        said.truth[answer] = case.label
    decision = getattr(case, "decision", None)
    if decision is not None:
        said.decisions[answer] = decision.label
    if not earliest:
        return
    blind: list[Review] = getattr(case, "blind", [])
    for place, review in zip((said.first, said.second), blind, strict=False):
        place[answer] = review.label
    for review in blind:
        said.people[review.reviewer_id][answer] = review.label
