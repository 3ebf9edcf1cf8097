"""Judges and rater agreement: who labels, how far each can be trusted, and how far raters agree."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema

from benchmark_tasks.models import Suite
from evaluator.models import JudgeConfig
from leaderboard.agreement.asked import Asked, UnknownChoiceError
from leaderboard.agreement.suite import read_report
from leaderboard.api.paging import Page, Paging, paged
from leaderboard.board.judge_pages import judge_facts, list_judges
from leaderboard.closing import closed_answers
from leaderboard.views.agreement import open_pairs
from submissions.enums import Inputs

if TYPE_CHECKING:
    from leaderboard.agreement.suite import RaterPair
    from leaderboard.agreement.types import Coefficient

router = Router(tags=["Judges"])


class RateOut(Schema):
    """A rate of a health check: ``count`` of ``n`` canaries, as a percentage with its interval."""

    name: str
    count: int
    n: int
    percent: float | None
    low: float | None
    high: float | None
    missed: bool


class HealthOut(Schema):
    """A health check: canaries, whose labels are known, given to the judge. ``error``: why it came to no end."""

    finished: datetime
    error: str
    rates: list[RateOut]


class JudgeOut(Schema):
    """A judge. ``suites`` are those whose boards show it; ``judged`` counts published answers, each for ``dollars``."""

    slug: str
    name: str
    model: str
    vendor: str
    active: bool
    votes: int
    votes_when_split: int
    prompt_version: str
    suites: list[str]
    judged: int
    dollars: float | None
    page: str


class JudgeRow(JudgeOut):
    """A judge with its newest health check, null before the first."""

    health: HealthOut | None


class JudgeDetail(JudgeOut):
    """Everything about a judge that cannot change, how it labelled published answers, and its last health checks.

    ``splits`` counts how its votes fell, ``surface_sensitive`` the answers whose label changes without their comments,
    ``related`` the judged systems of the judge's own family.
    """

    api: str
    effort: str
    temperature: float | None
    max_output_tokens: int
    price_input: Decimal | None
    price_output: Decimal | None
    sdk: str
    prompt_hash: str
    schema_hash: str
    digest: str
    created: datetime
    labels: dict[str, int]
    splits: dict[str, int]
    surface_sensitive: int
    injection_suspected: int
    related: list[str]
    health: list[HealthOut]


class CoefficientOut(Schema):
    """A number with its 95 % interval, or ``why`` there is none."""

    value: float | None
    low: float | None
    high: float | None
    why: str


class PairOut(Schema):
    """Two raters on the ``n`` answers, of ``papers`` papers, that both labelled.

    ``matrix`` has a row for each of the first one's ``labels`` and a column for each of the second's; ``abstained``
    answers are in no number.
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
    agreement: CoefficientOut
    kappa: CoefficientOut
    quadratic_kappa: CoefficientOut
    alpha: CoefficientOut
    ac1: CoefficientOut
    ac2: CoefficientOut


class AgreementOut(Schema):
    """Every pair of raters of a suite. ``page`` has the same with explanations."""

    suite: str
    pairs: list[PairOut]
    page: str


class WantedAgreement(Schema):
    """Which answers and raters are asked for. ``first`` and ``second`` name raters as ``pairs`` do."""

    category: str = Field("", description="A category's slug.")
    system: str = Field("", description="A system's slug.")
    inputs: Literal["", *Inputs.values] = ""  # type: ignore[valid-type]
    samples: bool = Field(False, description="Calibration samples instead of ranked answers.")
    binary: bool = Field(False, description="CC against the rest.")
    first: str = ""
    second: str = ""


@router.get("/judges", response=Page[JudgeRow])
def list_all_judges(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """All judges, active ones first."""

    def shown(part: Any) -> list[dict[str, Any]]:
        return [
            {
                **_of_config(each["config"]),
                "suites": [suite.slug for suite in each["suites"]],
                "judged": each["config"].judged,
                "dollars": each["config"].dollars,
                "health": _health(each["health"]) if each["health"] else None,
            }
            for each in part
        ]

    return paged(request, list_judges(), paging, shown)


@router.get("/judges/{slug:slug}", response=JudgeDetail)
def get_judge(request: HttpRequest, slug: str) -> dict[str, Any]:
    """One judge."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    facts = judge_facts(config)
    fixed = ("api", "effort", "temperature", "max_output_tokens", "price_input", "price_output", "sdk")
    return {
        **_of_config(config),
        **{name: getattr(config, name) for name in (*fixed, "prompt_hash", "schema_hash", "digest", "created")},
        "suites": [suite.slug for suite in facts["suites"]],
        "judged": facts["judged"],
        "dollars": facts["dollars"],
        "labels": dict(facts["labels"]),
        "splits": dict(facts["splits"]),
        "surface_sensitive": facts["sensitive"],
        "injection_suspected": facts["suspected"],
        "related": [system.slug for system in facts["related"]],
        "health": [_health(each) for each in facts["health"]],
    }


@router.get("/suites/{slug:suite}/agreement", response=AgreementOut)
def get_agreement(request: HttpRequest, suite: str, asked: Query[WantedAgreement]) -> dict[str, Any]:
    """How far every two raters of a suite agree on its published answers."""
    shown = get_object_or_404(Suite, slug=suite)
    try:
        report = read_report(suite=shown, asked=Asked(**asked.model_dump()))
    except UnknownChoiceError as error:
        raise Http404(str(error)) from error
    pairs = open_pairs(report, hidden=closed_answers(request))
    return {"suite": shown.slug, "pairs": [_pair(each) for each in pairs], "page": f"/agreement/{shown.slug}/"}


def _of_config(config: JudgeConfig) -> dict[str, Any]:
    named = ("slug", "name", "model", "vendor", "active", "votes", "votes_when_split", "prompt_version")
    return {**{name: getattr(config, name) for name in named}, "page": config.get_absolute_url()}


def _health(shown: dict[str, Any]) -> dict[str, Any]:
    rates = [{name: rate[name] for name in RateOut.model_fields} for rate in shown["rates"]]
    return {"finished": shown["row"].finished, "error": shown["row"].error, "rates": rates}


def _pair(pair: RaterPair) -> dict[str, Any]:
    result = pair.result
    named = ("agreement", "kappa", "quadratic_kappa", "alpha", "ac1", "ac2")
    return {
        "first": pair.first.slug,
        "second": pair.second.slug,
        "first_name": pair.first.name,
        "second_name": pair.second.name,
        "n": result.n,
        "papers": result.clusters,
        "abstained": pair.abstained,
        "labels": result.labels,
        "matrix": result.matrix,
        "conflicts": result.conflicts,
        **{name: _coefficient(getattr(result, name)) for name in named},
    }


def _coefficient(found: Coefficient) -> dict[str, Any]:
    interval = found.interval
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {"value": found.value, "low": low, "high": high, "why": found.why}
