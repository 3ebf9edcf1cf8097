"""Serve closed cases (reviews of answers) and reported results on which raters disagree."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema

from leaderboard.api.paging import Page, Paging, paged
from leaderboard.api.problems import valid
from leaderboard.api.schemas import filled
from leaderboard.board.filters import CaseFilter
from leaderboard.board.visibility import closed_submissions, require_open
from leaderboard.evidence.cases import case_page, case_rows, disagreements, public_cases, reported_rows
from leaderboard.evidence.submissions import may_see_code
from reviews.enums import FinalSource, ReasonCode

if TYPE_CHECKING:
    from leaderboard.evidence.cases import CaseRow
    from leaderboard.models import ReportedResult

router = Router(tags=["Cases"])


class CaseOut(Schema):
    """A closed review of one answer. ``label`` is the final label, by ``source``; ``annotators``: the blind labels."""

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
    """An annotator's finding and its place in the code."""

    side: str
    where: str
    text: str
    error_class: str


class LabelOut(Schema):
    """One annotator's blind label. Findings and note quote the code, so they are given only to those who may see it."""

    annotator: str
    label: str
    confidence: str
    findings: list[FindingOut]
    note: str


class DecisionOut(Schema):
    """An adjudicator's decision."""

    adjudicator: str
    reasons: str
    note: str
    decided: datetime


class CaseDetail(Schema):
    """A case with its labels and decision. ``later`` is the case of the round that superseded it."""

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
    """An answer on which the results reported elsewhere disagree with each other."""

    run: str
    system: str
    task: str
    category: str
    tests_passed: bool | None
    judge_label: str
    annotators_label: str
    disagreements: list[str]


class CasesQuery(Schema):
    """Select cases."""

    suite: str = Field("", description="A suite's slug.")
    category: str = Field("", description="A category's slug.")
    reason: Literal["", *ReasonCode.values] = ""  # type: ignore[valid-type]
    source: Literal["", *(each for each in FinalSource.values if each != FinalSource.JUDGE)] = ""  # type: ignore[valid-type]


class ReportedCasesQuery(Schema):
    """Select reported results."""

    suite: str = Field("", description="A suite's slug.")
    category: str = Field("", description="A category's slug.")


def _found(request: HttpRequest) -> CaseFilter:
    """Return the page's filter. Hidden submissions are excluded before filtering, so that no filter reveals them."""
    shown = public_cases().exclude(implementation__submission__in=closed_submissions(request))
    found = CaseFilter(request.GET, queryset=shown)
    valid(found.form)
    return found


@router.get("/cases", response=Page[CaseOut])
def list_cases(request: HttpRequest, query: Query[CasesQuery], paging: Query[Paging]) -> dict[str, Any]:
    """List the cases decided on this site, newest first."""
    suite = "implementation__submission__suite_version__suite"
    own = _found(request).qs.select_related(suite).order_by("-closed", "-pk")
    return paged(request, own, paging, lambda shown: map(_row, case_rows(shown)))


def _row(row: CaseRow) -> dict[str, Any]:
    case, answer = row.case, row.case.implementation
    category, decision = answer.revision.category, getattr(case, "decision", None)
    return filled(
        CaseOut,
        case,
        suite=answer.submission.suite_version.suite.slug,
        task=answer.revision.task.slug,
        category=category.slug if category else None,
        submission=answer.submission_id,
        trial=answer.trial,
        system=answer.submission.system.name,
        tests=row.tests.text if row.tests else "",
        judge=row.judge,
        annotators=[review.label for review in case.blind],  # type: ignore[attr-defined]
        reasons=decision.reasons if decision else [],
        page=case.get_absolute_url(),
    )


@router.get("/cases/{int:pk}", response=CaseDetail)
def get_case(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Get one closed case. Open cases are not served to any account."""
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
    return filled(
        CaseDetail,
        case,
        task=answer.revision.task.slug,
        submission=answer.submission_id,
        earlier=page["earlier"].pk if page["earlier"] else None,
        later=page["later"].pk if page["later"] else None,
        triggers=[trigger.get_kind_display() for trigger in page["triggers"]],
        tests=page["tests"].badge.text if page["tests"] else "",
        labels=[filled(LabelOut, each.shown, annotator=each.name) for each in page["labels"]],
        decision={
            "adjudicator": decision.adjudicator.public_name,
            "reasons": decision.reason_names,
            "note": decision.note if sees_code else "",
            "decided": decision.decided,
        }
        if decision
        else None,
        page=case.get_absolute_url(),
    )


@router.get("/reported-cases", response=Page[ReportedOut])
def list_reported_cases(
    request: HttpRequest, query: Query[ReportedCasesQuery], paging: Query[Paging]
) -> dict[str, Any]:
    """List the answers whose reported raters disagree."""
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
