"""Export labels: a row for every locked label and decision of closed cases, as CSV or JSON Lines."""

from __future__ import annotations

import json
from datetime import UTC
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from django.db.models import Prefetch

from reviews.enums import CLOSED, CaseKind, Role
from reviews.models import Case, Review
from submissions.csv_cells import as_cell, csv_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from django.db.models import QuerySet

    from benchmark_tasks.models import Suite
    from reviews.models import Decision, Reviewer

Format: TypeAlias = Literal["csv", "jsonl"]
_KINDS: Final = (CaseKind.REVIEW, CaseKind.REPEAT)
_FINDING: Final = ("side", "start", "end", "text", "error_class")
_AT_A_TIME: Final = 200
_HEAVY: Final = ("files", "deleted", "diff", "goal_source", "raw_answer", "answer_error", "set_aside", "usage")


COLUMNS: Final = (
    *("record", "identifier", "case", "kind", "round", "state", "case_label", "case_source"),
    *("case_created", "case_closed", "triggers", "suite", "suite_version", "submission", "bundle_digest"),
    *("task", "trial", "system", "reviewer", "pseudonym", "name", "role", "label", "confidence", "findings"),
    *("note", "reason", "guideline", "active_seconds", "at"),
)
"""Described in docs/reviewing.md. Columns that a decision lacks (confidence, active seconds) are null."""


def export(*, form: Format, suite: Suite | None = None, without: Collection[int] = ()) -> Iterator[str]:
    """Yield the file in pieces, read from the database as needed; ``without`` are ids of submissions to leave out.

    Open, void and practice cases are left out. Cases are ordered by the time of closing.
    """
    cases = _closed_cases().exclude(implementation__submission__in=without)
    if suite is not None:
        cases = cases.filter(implementation__submission__suite_version__suite=suite)
    rows = (row for case in cases.iterator(chunk_size=_AT_A_TIME) for row in _rows_of(case))
    if form == "jsonl":
        return (json.dumps({name: row[name] for name in COLUMNS}, ensure_ascii=False) + "\n" for row in rows)
    return map(csv_line, chain([COLUMNS], ([as_cell(row[name]) for name in COLUMNS] for row in rows)))


def _closed_cases() -> QuerySet[Case]:
    """Return cases with all that :func:`_rows_of` needs; a constant number of queries for each chunk."""
    reviews = Review.objects.select_related("reviewer", "guideline").order_by("locked", "identifier")
    return (
        Case.objects.filter(kind__in=_KINDS, state__in=CLOSED, closed__isnull=False)
        .select_related(
            "implementation__submission__system",
            "implementation__submission__suite_version__suite",
            "implementation__revision__task",
            "decision__adjudicator",
            "decision__guideline",
        )
        .defer(*(f"implementation__{field}" for field in _HEAVY))
        .prefetch_related("triggers", Prefetch("reviews", reviews))
        .order_by("closed", "identifier")
    )


def _rows_of(case: Case) -> Iterator[dict[str, Any]]:
    """Yield a case's labels in the order of locking, then its decision."""
    for review in case.reviews.all():
        yield {
            **_of_case(case),
            **_common("review", review, review.reviewer, review.locked),
            "role": review.role,
            "confidence": review.confidence,
            "findings": [{name: finding.get(name, "") for name in _FINDING} for finding in review.findings],
            "reason": "",
            "active_seconds": review.active_seconds,
        }
    decision: Decision | None = getattr(case, "decision", None)
    if decision is not None:
        yield {
            **_of_case(case),
            **_common("decision", decision, decision.adjudicator, decision.decided),
            "role": Role.ADJUDICATOR.value,
            "confidence": None,
            "findings": [],
            "reason": ",".join(decision.reasons),
            "active_seconds": None,
        }


def _of_case(case: Case) -> dict[str, Any]:
    answer = case.implementation
    submission = answer.submission
    return {
        "case": str(case.identifier),
        "kind": case.kind,
        "round": case.round,
        "state": case.state,
        "case_label": case.label,
        "case_source": case.source,
        "case_created": _time(case.created),
        "case_closed": _time(case.closed),
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


def _common(record: str, row: Review | Decision, person: Reviewer, at: datetime) -> dict[str, Any]:
    return {
        "record": record,
        "identifier": str(row.identifier),
        "reviewer": str(person.identifier),
        "pseudonym": person.pseudonym,
        "name": person.name if person.shows_name else "",
        "label": row.label,
        "note": row.note,
        "guideline": row.guideline.number,
        "at": _time(at),
    }


def _time(at: datetime | None) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z") if at else ""
