"""Taking labels away: a row for every locked label and decision of the settled cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db.models import Prefetch

from reviews.enums import Role
from reviews.models import Case, Decision, Review
from reviews.record.label_files import DECISION, REVIEW, LabelRow, written
from reviews.record.label_values import FINDING, KINDS, STATES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from django.db.models import QuerySet

    from benchmark_tasks.models import Suite
    from reviews.models import Reviewer
    from reviews.record.label_files import Format

_AT_A_TIME: Final = 200
_HEAVY: Final = ("files", "deleted", "diff", "goal_source", "raw_answer", "answer_error", "set_aside", "usage")


def export(*, form: Format, suite: Suite | None = None, without: Collection[int] = ()) -> Iterator[str]:
    """The file in pieces, read from the database as they are taken; all suites but those with ids in ``without``.

    Open, void and practice cases are left out. Cases come in the order in which they were settled.
    """
    cases = settled_cases().exclude(implementation__submission__suite_version__suite__in=without)
    if suite is not None:
        cases = cases.filter(implementation__submission__suite_version__suite=suite)
    found = cases.order_by("settled", "identifier").iterator(chunk_size=_AT_A_TIME)
    return written((row for case in found for row in rows_of(case)), form)


def settled_cases() -> QuerySet[Case]:
    """Settled cases with all that :func:`rows_of` needs; a constant number of queries for each chunk."""
    said = Review.objects.select_related("reviewer", "guideline").order_by("locked", "identifier")
    cases = Case.objects.filter(kind__in=KINDS, state__in=STATES, settled__isnull=False).select_related(
        "implementation__submission__system",
        "implementation__submission__suite_version__suite",
        "implementation__revision__task",
        "decision__adjudicator",
        "decision__guideline",
    )
    heavy = [f"implementation__{field}" for field in _HEAVY]
    return cases.defer(*heavy).prefetch_related("triggers", Prefetch("reviews", said))


def rows_of(case: Case) -> list[LabelRow]:
    """A case's labels in the order in which they were locked, then its decision."""
    rows = [_of_review(case, review) for review in case.reviews.all()]
    decision: Decision | None = getattr(case, "decision", None)
    return [*rows, _of_decision(case, decision)] if decision is not None else rows


def _of_review(case: Case, review: Review) -> LabelRow:
    return LabelRow(
        record=REVIEW,
        identifier=review.identifier,
        **_of_case(case),
        **_of_person(review.reviewer),
        role=review.role,
        label=review.label,
        confidence=review.confidence,
        findings=[{name: finding.get(name, "") for name in FINDING} for finding in review.findings],
        note=review.note,
        reason="",
        guideline=review.guideline.number,
        active_seconds=review.active_seconds,
        at=review.locked,
    )


def _of_decision(case: Case, decision: Decision) -> LabelRow:
    return LabelRow(
        record=DECISION,
        identifier=decision.identifier,
        **_of_case(case),
        **_of_person(decision.adjudicator),
        role=Role.ADJUDICATOR.value,
        label=decision.label,
        confidence=None,
        findings=[],
        note=decision.note,
        reason=",".join(decision.reasons),
        guideline=decision.guideline.number,
        active_seconds=None,
        at=decision.decided,
    )


def _of_case(case: Case) -> dict[str, Any]:
    answer = case.implementation
    submission = answer.submission
    return {
        "case": case.identifier,
        "kind": case.kind,
        "round": case.round,
        "state": case.state,
        "case_label": case.label,
        "case_source": case.source,
        "case_created": case.created,
        "case_settled": case.settled,
        "triggers": [
            {"kind": trigger.kind, "inclusion_probability": trigger.inclusion_probability}
            for trigger in case.triggers.all()
        ],
        "suite": submission.suite_version.suite.slug,
        "suite_version": submission.suite_version.number,
        "submission": submission.pk,
        "bundle_digest": submission.bundle_digest,
        "task": answer.revision.task.slug,
        "trial": answer.trial,
        "system": submission.system.slug,
    }


def _of_person(person: Reviewer) -> dict[str, Any]:
    return {
        "reviewer": person.identifier,
        "pseudonym": person.pseudonym,
        "name": person.name if person.shows_name else "",
    }
