"""Decided cases: answers that annotators reviewed, and what others reported in disagreement."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema

from leaderboard.api.paging import Page, Paging, paged
from leaderboard.api.problems import valid
from leaderboard.board.filters import CaseFilter
from leaderboard.board.visibility import closed_submissions, require_open
from leaderboard.evidence.cases import case_page, case_rows, disagreements, public_cases, reported_rows
from leaderboard.evidence.submissions import may_see_code
from reviews.enums import FinalSource, ReasonCode

if TYPE_CHECKING:
    from leaderboard.evidence.cases import CaseRow, NamedLabel
    from leaderboard.models import ReportedResult

router = Router(tags=["Cases"])


class CaseOut(Schema):
    """A closed review of one answer. ``label`` is its final one, by ``source``; ``annotators`` are the blind ones."""

    id: int
    suite: str
    task: str
    category: str | None
    submission: int
    trial: int
    system: str
    round: int
    tests: str
    judge: str
    annotators: list[str]
    label: str
    source: str
    reasons: list[str]
    closed: datetime | None
    page: str


class FindingOut(Schema):
    """What an annotator found, and where."""

    side: str
    where: str
    text: str
    error_class: str


class LabelOut(Schema):
    """One annotator's blind label. Findings and note quote the code, and are shown with it."""

    annotator: str
    label: str
    confidence: str
    findings: list[FindingOut]
    note: str


class DecisionOut(Schema):
    """What an adjudicator decided."""

    adjudicator: str
    reasons: str
    note: str
    decided: datetime


class CaseDetail(Schema):
    """A case with its labels and its decision. ``later`` is the round that superseded it."""

    id: int
    task: str
    submission: int
    label: str
    source: str
    round: int
    earlier: int | None
    later: int | None
    triggers: list[str]
    tests: str
    labels: list[LabelOut]
    decision: DecisionOut | None
    page: str


class ReportedOut(Schema):
    """What others reported of one answer in disagreement with each other."""

    run: str
    system: str
    task: str
    category: str
    tests_passed: bool | None
    judge_label: str
    annotators_label: str
    disagreements: list[str]


class WantedCases(Schema):
    """Which cases are asked for."""

    suite: str = Field("", description="A suite's slug.")
    category: str = Field("", description="A category's slug.")
    reason: Literal["", *ReasonCode.values] = ""  # type: ignore[valid-type]
    source: Literal["", *(each for each in FinalSource.values if each != FinalSource.JUDGE)] = ""  # type: ignore[valid-type]


class WantedReportedCases(Schema):
    """Which of what others reported is asked for."""

    suite: str = Field("", description="A suite's slug.")
    category: str = Field("", description="A category's slug.")


def _found(request: HttpRequest) -> CaseFilter:
    """The page's filter. What is hidden is left out before anything is filtered: filters must not tell of it."""
    shown = public_cases().exclude(implementation__submission__in=closed_submissions(request))
    found = CaseFilter(request.GET, queryset=shown)
    valid(found.form)
    return found


@router.get("/cases", response=Page[CaseOut])
def list_cases(request: HttpRequest, asked: Query[WantedCases], paging: Query[Paging]) -> dict[str, Any]:
    """What was decided here, newest first."""
    suite = "implementation__submission__suite_version__suite"
    own = _found(request).qs.select_related(suite).order_by("-closed", "-pk")
    return paged(request, own, paging, lambda shown: map(_row, case_rows(shown)))


def _row(row: CaseRow) -> dict[str, Any]:
    case, answer = row.case, row.case.implementation
    category, decision = answer.revision.category, getattr(case, "decision", None)
    return {
        "id": case.pk,
        "suite": answer.submission.suite_version.suite.slug,
        "task": answer.revision.task.slug,
        "category": category.slug if category else None,
        "submission": answer.submission_id,
        "trial": answer.trial,
        "system": answer.submission.system.name,
        "tests": row.tests.text if row.tests else "",
        "judge": row.judge,
        "annotators": [review.label for review in case.blind],  # type: ignore[attr-defined]
        "reasons": decision.reasons if decision else [],
        **{name: getattr(case, name) for name in ("round", "label", "source", "closed")},
        "page": case.get_absolute_url(),
    }


@router.get("/cases/{int:pk}", response=CaseDetail)
def get_case(request: HttpRequest, pk: int) -> dict[str, Any]:
    """One closed case. An open one has no address, for nobody."""
    found = public_cases().select_related(
        "decision__adjudicator",
        "implementation__revision__task__paper",
        "implementation__revision__task__suite",
        "implementation__submission__suite_version",
    )
    case = get_object_or_404(found, pk=pk)
    answer = case.implementation
    require_open(request, submission=answer.submission)
    page = case_page(case, sees_code=may_see_code(request.user, answer.submission))
    decision, sees_code = page["decision"], page["sees_code"]
    return {
        **{name: getattr(case, name) for name in ("label", "source", "round")},
        "id": case.pk,
        "task": answer.revision.task.slug,
        "submission": answer.submission_id,
        "earlier": page["earlier"].pk if page["earlier"] else None,
        "later": page["later"].pk if page["later"] else None,
        "triggers": [trigger.get_kind_display() for trigger in page["triggers"]],
        "tests": page["tests"].badge.text if page["tests"] else "",
        "labels": [_label(each) for each in page["labels"]],
        "decision": {
            "adjudicator": decision.adjudicator.public_name,
            "reasons": decision.reason_names,
            "note": decision.note if sees_code else "",
            "decided": decision.decided,
        }
        if decision
        else None,
        "page": case.get_absolute_url(),
    }


def _label(label: NamedLabel) -> dict[str, Any]:
    shown = label.shown
    return {
        "annotator": label.name,
        "label": shown.label,
        "confidence": shown.confidence,
        "findings": [
            {name: getattr(each, name) for name in ("side", "where", "text", "error_class")} for each in shown.findings
        ],
        "note": shown.note,
    }


@router.get("/reported-cases", response=Page[ReportedOut])
def list_reported_cases(
    request: HttpRequest, asked: Query[WantedReportedCases], paging: Query[Paging]
) -> dict[str, Any]:
    """What others reported of answers on which their raters disagree."""
    reported = _found(request).reported.order_by(
        "run__suite__position", "run__slug", "task__paper__folder_name", "task__index"
    )
    return paged(request, reported, paging, lambda shown: map(_reported, reported_rows(shown)))


def _reported(row: tuple[ReportedResult, str]) -> dict[str, Any]:
    result, category = row
    return {
        "run": result.run.slug,
        "system": result.run.system.name,
        "task": result.task.slug,
        "category": category,
        "tests_passed": result.tests_passed,
        "judge_label": result.judge_label,
        "annotators_label": result.human_label,
        "disagreements": list(disagreements(result)),
    }
