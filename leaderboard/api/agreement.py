"""Serve rater agreement: each pair of raters, all annotators together, and judges against final labels."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from django.http import Http404, HttpRequest
from ninja import Field, Query, Router, Schema

from benchmark_tasks.models import Suite
from evaluator.outcomes import Outcome
from leaderboard.api.catalogue import known_suite
from leaderboard.api.schemas import filled
from leaderboard.board.visibility import closed_submissions
from leaderboard.insight.agreement.raters import JUDGE_PREFIX, Selection, UnknownChoiceError
from leaderboard.insight.agreement.report import all_raters, cell_of, read_report
from leaderboard.insight.published_answers import Right, published_answers
from leaderboard.statistics.results import AnnotatorsAgreement, ClassAccuracy, Coefficient, Test
from submissions.enums import Inputs

if TYPE_CHECKING:
    from leaderboard.insight.agreement.raters import Rater
    from leaderboard.insight.agreement.report import RaterPair, Report

router = Router(tags=["Judges"])


class PairOut(Schema):
    """Two raters on the ``n`` answers to tasks of ``papers`` papers that both labelled.

    ``matrix`` has a row for each label of the first rater and a column for each label of the second. Answers on which
    either ``abstained`` are counted in no other number.
    """

    first: str
    second: str
    first_name: str
    second_name: str
    n: int
    papers: int
    abstained: int
    labels: list[str]
    matrix: list[list[int]]
    conflicts: int
    agreement: Coefficient
    conflict_share: Coefficient
    kappa: Coefficient
    quadratic_kappa: Coefficient
    alpha: Coefficient
    ac1: Coefficient
    ac2: Coefficient
    bowker: Test | None
    stuart_maxwell: Test | None


class TrustOut(Schema):
    """A judge against annotators' final labels, and its CC rate corrected by the random audit.

    The judge abstained on ``abstained`` of the ``n`` answers with a final label. The audit sampled the ``population``
    of judged answers: ``sampled`` reviews are closed and ``waiting`` are not.
    """

    judge: str
    name: str
    n: int
    abstained: int
    classes: list[ClassAccuracy]
    population: int
    sampled: int
    waiting: int
    raw: Coefficient
    prediction_powered: Coefficient
    rogan_gladen: Coefficient


class AgreementOut(Schema):
    """Every pair of raters of a suite, all its annotators together (null without any), and each judge against them.

    ``annotators`` and ``judges`` are given only without ``first``, ``second`` and ``binary``. ``reported_annotators``
    is true if others reported annotators' labels. ``page`` shows the same with explanations.
    """

    suite: str
    pairs: list[PairOut]
    annotators: AnnotatorsAgreement | None
    judges: list[TrustOut]
    reported_annotators: bool
    page: str


class CellAnswerOut(Schema):
    """An answer in a cell. ``trial`` is 0 if each task has one trial; ``case`` is empty if no public case exists."""

    task: str
    system: str
    inputs: str
    trial: int
    reported: bool
    first: str
    second: str
    page: str
    case: str


class CellOut(Schema):
    """One cell of two raters' table, with ``count`` answers; the first 500 are listed."""

    first: str
    second: str
    first_label: str
    second_label: str
    count: int
    answers: list[CellAnswerOut]


class AgreementQuery(Selection):
    """Select answers and raters. ``first`` and ``second`` name raters as ``pairs`` do."""

    inputs: Literal["", *Inputs.values] = ""  # type: ignore[valid-type]


class CellQuery(AgreementQuery):
    """Select a cell of a table; ``first`` and ``second`` are required."""

    cell: str = Field(description="The first rater's label and the second's, as CC,LI.")


class DisagreementOut(Schema):
    """An answer of the reported ``run`` to ``task`` whose published verdict is not our sealed test's.

    ``right`` is the verdict that is right after reading the answer, the paper and both tests, and ``why`` the reason.
    ``second_run`` is our outcome of the answer of the system's second published run, null if that has none. If our
    verdict on that answer is the published one, the published one ``may_be_second_run``'s.
    """

    task: str
    run: str
    system: str
    published: Literal["passed", "failed"]
    sealed: Outcome
    second_run: Outcome | None
    may_be_second_run: bool
    right: Right
    why: str


class PassWithoutAnswerOut(Schema):
    """A published pass of ``task``, to which the sessions of the reported ``run`` hold no answer.

    ``second_run`` is our outcome of the answer of the system's second published run, null if that has none.
    """

    task: str
    run: str
    system: str
    second_run: Outcome | None


class PublishedAnswersOut(Schema):
    """Published verdicts on other systems' answers, and those of our sealed tests on the same answers.

    ``verdicts`` answers have both, which agree on ``agreed``. Of the other verdicts, ``may_be_second_run`` may be those
    of a system's second published run. Without these, ``wrongly_passed`` wrong answers had passed upstream's test, and
    ``wrongly_failed`` right ones had failed it. ``passes_without_answer`` are not among the verdicts. ``measured`` is
    null without answers.
    """

    suite: str
    verdicts: int
    agreed: int
    may_be_second_run: int
    wrongly_passed: int
    wrongly_failed: int
    evaluator_version: str
    measured: date | None
    disagreements: list[DisagreementOut]
    passes_without_answer: list[PassWithoutAnswerOut]
    page: str


@router.get("/suites/{slug:suite}/agreement", response=AgreementOut)
def get_agreement(request: HttpRequest, suite: str, query: Query[AgreementQuery]) -> dict[str, Any]:
    """Get the agreement of a suite's raters on its published answers."""
    shown = known_suite(suite)
    report = _report(request, shown, query)
    annotators, judges = all_raters(report, selection=query)
    return {
        "suite": shown.slug,
        "pairs": [_pair(each) for each in report.pairs],
        "annotators": annotators,
        "judges": [filled(TrustOut, trust, judge=_slug(judge), name=judge.name) for judge, trust in judges],
        "reported_annotators": report.reported_annotators,
        "page": f"/agreement/{shown.slug}/",
    }


@router.get("/suites/{slug:suite}/agreement/cell", response=CellOut)
def get_agreement_cell(request: HttpRequest, suite: str, query: Query[CellQuery]) -> dict[str, Any]:
    """Get the answers in one cell of two raters' table."""
    shown = known_suite(suite)
    pairs, hidden = _report(request, shown, query).pairs, closed_submissions(request)
    try:
        found = cell_of(pairs, query.cell, suite=shown, selection=query, hidden=hidden)
    except UnknownChoiceError as error:
        raise Http404(str(error)) from error
    return {
        "first": found.first.slug,
        "second": found.second.slug,
        "first_label": found.row,
        "second_label": found.column,
        "count": found.count,
        "answers": [
            filled(CellAnswerOut, each, inputs=each.inputs_text, page=each.address, case=each.case_address)
            for each in found.items
        ],
    }


@router.get("/suites/{slug:suite}/published-answers", response=PublishedAnswersOut)
def get_published_answers(request: HttpRequest, suite: str) -> dict[str, Any]:
    """Get where published verdicts differ from those of our sealed tests on the same answers, and which is right."""
    shown = known_suite(suite)
    found = published_answers(shown.slug)
    disagreements = [
        filled(DisagreementOut, each, published="passed" if each.published_passed else "failed")
        for each in found.disagreements
    ]
    page = f"/agreement/{shown.slug}/published/"
    return filled(PublishedAnswersOut, found, suite=shown.slug, disagreements=disagreements, page=page)


def _report(request: HttpRequest, suite: Suite, wanted: Selection) -> Report:
    try:
        return read_report(suite=suite, selection=wanted, hidden=closed_submissions(request))
    except UnknownChoiceError as error:
        raise Http404(str(error)) from error


def _slug(judge: Rater) -> str:
    return judge.slug.removeprefix(JUDGE_PREFIX)


def _pair(pair: RaterPair) -> dict[str, Any]:
    return filled(
        PairOut,
        pair.result,
        first=pair.first.slug,
        second=pair.second.slug,
        first_name=pair.first.name,
        second_name=pair.second.name,
        papers=pair.result.clusters,
        abstained=pair.abstained,
    )
