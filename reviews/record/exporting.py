"""Exporting labels: a row for every locked label and decision of the closed cases, as CSV or JSON Lines.

A spreadsheet runs cells that begin with ``=``, ``+``, ``-`` or ``@`` as formulas. Such cells get an apostrophe before
them in CSV, and so do those that begin with one, so that a reader takes exactly one away again.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from uuid import UUID

from django.db.models import Prefetch

from reviews.enums import CLOSED, CaseKind, Role
from reviews.models import Case, Decision, Review

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from django.db.models import QuerySet

    from benchmark_tasks.models import Suite
    from reviews.models import Reviewer

Format: TypeAlias = Literal["csv", "jsonl"]
_KINDS: Final = (CaseKind.REVIEW, CaseKind.REPEAT)
_FINDING: Final = ("side", "start", "end", "text", "error_class")
# The last four are full-width forms of the first, which some spreadsheets take for them.
_RUN_BY_SPREADSHEETS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")
_AT_A_TIME: Final = 200
_HEAVY: Final = ("files", "deleted", "diff", "goal_source", "raw_answer", "answer_error", "set_aside", "usage")


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A locked label (``record`` is ``review``) or a decision, with everything that it refers to.

    ``at`` is when it was locked or made. ``submission`` is the number on the site that wrote the row. What a decision
    does not have (confidence, findings, active seconds) is null or empty, as is a review's ``reason``: reason codes,
    separated by commas.
    """

    record: str
    identifier: UUID
    case: UUID
    kind: str
    round: int
    state: str
    case_label: str
    case_source: str
    case_created: datetime
    case_settled: datetime
    triggers: list[dict[str, Any]]
    suite: str
    suite_version: int
    submission: int
    bundle_digest: str
    task: str
    trial: int
    system: str
    reviewer: UUID
    pseudonym: str
    name: str
    role: str
    label: str
    confidence: int | None
    findings: list[dict[str, Any]]
    note: str
    reason: str
    guideline: int
    active_seconds: int | None
    at: datetime


COLUMNS: Final = tuple(field.name for field in fields(LabelRow))


def export(*, form: Format, suite: Suite | None = None, without: Collection[int] = ()) -> Iterator[str]:
    """The file in pieces, read from the database as they are taken; ``without`` are ids of answers to leave out.

    Open, void and practice cases are left out. Cases come in the order in which they were settled.
    """
    cases = settled_cases().exclude(implementation__in=without)
    if suite is not None:
        cases = cases.filter(implementation__submission__suite_version__suite=suite)
    found = cases.order_by("settled", "identifier").iterator(chunk_size=_AT_A_TIME)
    return _written((row for case in found for row in rows_of(case)), form)


def settled_cases() -> QuerySet[Case]:
    """Settled cases with all that :func:`rows_of` needs; a constant number of queries for each chunk."""
    said = Review.objects.select_related("reviewer", "guideline").order_by("locked", "identifier")
    cases = Case.objects.filter(kind__in=_KINDS, state__in=CLOSED, settled__isnull=False).select_related(
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
        record="review",
        identifier=review.identifier,
        **_of_case(case),
        **_of_person(review.reviewer),
        role=review.role,
        label=review.label,
        confidence=review.confidence,
        findings=[{name: finding.get(name, "") for name in _FINDING} for finding in review.findings],
        note=review.note,
        reason="",
        guideline=review.guideline.number,
        active_seconds=review.active_seconds,
        at=review.locked,
    )


def _of_decision(case: Case, decision: Decision) -> LabelRow:
    return LabelRow(
        record="decision",
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


def _written(rows: Iterable[LabelRow], form: Format) -> Iterator[str]:
    """The file in pieces, a row each; CSV begins with its header."""
    if form == "jsonl":
        for row in rows:
            yield json.dumps(_as_data(row), ensure_ascii=False) + "\n"
        return
    yield _csv_line(COLUMNS)
    for row in rows:
        yield _csv_line(_as_cell(value) for value in _as_data(row).values())


def _as_data(row: LabelRow) -> dict[str, Any]:
    return {name: _plain(getattr(row, name)) for name in COLUMNS}


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value


def _as_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith((*_RUN_BY_SPREADSHEETS, "'")) else str(value)


def _csv_line(cells: Iterable[str]) -> str:
    target = io.StringIO(newline="")
    csv.writer(target, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow(list(cells))
    return target.getvalue()
