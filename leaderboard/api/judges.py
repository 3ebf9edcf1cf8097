"""Serve judges: their configuration, health checks, and how a board would change if it showed another judge."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema

from evaluator.models import JudgeConfig
from leaderboard.api.catalogue import Versioned
from leaderboard.api.paging import Page, Paging, paged
from leaderboard.api.schemas import filled
from leaderboard.board.labels import COUNTED, shown_judge
from leaderboard.board.query_strings import requested_version
from leaderboard.board.visibility import closed_submissions, require_open
from leaderboard.insight.judge_differences import compare, requested_suite
from leaderboard.insight.judges import judge_facts, list_judges

if TYPE_CHECKING:
    from leaderboard.insight.judge_differences import RankedRow
    from submissions.models import Implementation

router = Router(tags=["Judges"])


class RateOut(Schema):
    """A rate in a health check: ``count`` of ``n`` canaries, as a percentage with its interval."""

    name: str
    count: int
    n: int
    percent: float | None
    low: float | None
    high: float | None
    missed: bool


class HealthOut(Schema):
    """A health check: the judge labels canaries, whose labels are known. ``error`` is why it did not finish."""

    finished: datetime
    error: str
    rates: list[RateOut]


class JudgeOut(Schema):
    """A judge. ``suites``: boards that show it; ``judged``: number of published answers, at ``dollars`` each."""

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
    """A judge with its newest health check (null before the first)."""

    health: HealthOut | None


class JudgeDetail(JudgeOut):
    """A judge's immutable configuration, its labels of published answers, and its latest health checks.

    ``splits`` counts the vote splits, ``surface_sensitive`` the answers whose label changes when comments are removed.
    ``related`` are the judged systems of the judge's own model family.
    """

    api: str
    effort: str
    temperature: float | None
    max_output_tokens: int
    output_limit: str
    omit_strict: bool
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


class MovedOut(Schema):
    """An answer that two judges label differently."""

    task: str
    submission: int
    trial: int
    system: str
    before: str
    after: str
    page: str


class PlaceOut(Schema):
    """A ranked row under each judge: tasks labelled CC, out of ``tasks``, and its place. Equal rates share a place."""

    system: str
    system_slug: str
    submission: int
    tasks: int
    before: float
    after: float
    place_before: int
    place_after: int


class DifferencesOut(Schema):
    """Changes on a suite's board if it showed this judge instead of ``shown`` (null if it shows none).

    ``matrix`` has a row for each label before and a column for each label after, over the answers that ``both`` judges
    have labelled. This judge has yet to label ``waiting`` of the ``answers`` with code. ``moved`` are those of the
    ``moves`` answers with different labels that are of the newest submissions, ``places`` the best rows with labels;
    both lists have at most 500 entries.
    """

    judge: str
    shown: str | None
    suite: str
    suite_version: int
    answers: int
    both: int
    waiting: int
    moves: int
    labels: list[str]
    matrix: list[list[int]]
    moved: list[MovedOut]
    places: list[PlaceOut]
    page: str


class DifferencesQuery(Versioned):
    """Select a board."""

    suite: str = Field("", description="A suite's slug; default: the suite that the judge has judged most of.")


@router.get("/judges", response=Page[JudgeRow])
def list_all_judges(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """List all judges, active ones first."""

    def shown(part: Any) -> list[dict[str, Any]]:
        return [
            filled(
                JudgeRow,
                each["config"],
                suites=[suite.slug for suite in each["suites"]],
                judged=each["verdicts"].judged,
                dollars=each["verdicts"].dollars,
                health=_health(each["health"]) if each["health"] else None,
                page=each["config"].get_absolute_url(),
            )
            for each in part
        ]

    return paged(request, list_judges(closed_submissions(request)), paging, shown)


@router.get("/judges/{slug:slug}", response=JudgeDetail)
def get_judge(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Get one judge."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    facts = judge_facts(config, closed_submissions(request))
    verdicts = facts["verdicts"]
    return filled(
        JudgeDetail,
        config,
        suites=[suite.slug for suite in facts["suites"]],
        judged=verdicts.judged,
        dollars=verdicts.dollars,
        labels=dict(verdicts.labels),
        splits=dict(verdicts.splits),
        surface_sensitive=verdicts.sensitive,
        injection_suspected=verdicts.suspected,
        related=[system.slug for system in facts["related"]],
        health=[_health(each) for each in facts["health"]],
        page=config.get_absolute_url(),
    )


@router.get("/judges/{slug:slug}/differences", response=DifferencesOut)
def get_judge_differences(request: HttpRequest, slug: str, query: Query[DifferencesQuery]) -> dict[str, Any]:
    """Compare a board with what it would be if it showed this judge, on published answers. Closed to annotators who
    are labelling an answer.
    """
    config = get_object_or_404(JudgeConfig, slug=slug)
    suite = requested_suite(request, config)
    version = requested_version(request, suite) if suite else None
    if suite is None or version is None:
        raise Http404
    require_open(request, suite=suite)
    old = shown_judge(suite.pk)
    compared = compare(version=version, old=old, new=config)
    return filled(
        DifferencesOut,
        compared,
        judge=config.slug,
        shown=old.slug if old else None,
        suite=suite.slug,
        suite_version=version.number,
        labels=list(COUNTED),
        matrix=[counts for _, counts in compared.matrix],
        moved=[_moved(*each) for each in compared.moved],
        places=[_place(row) for row in compared.ranks],
        page=f"{config.get_absolute_url()}differences/?suite={suite.slug}",
    )


def _moved(answer: Implementation, before: str, after: str) -> dict[str, Any]:
    return {
        "task": answer.revision.task.slug,
        "submission": answer.submission_id,
        "trial": answer.trial,
        "system": answer.submission.system.name,
        "before": before,
        "after": after,
        "page": answer.get_absolute_url(),
    }


def _place(row: RankedRow) -> dict[str, Any]:
    return {
        "system": row.entry.system.name,
        "system_slug": row.entry.system.slug,
        "submission": row.entry.submission_id,
        "tasks": row.tasks,
        "before": round(row.before, 4),
        "after": round(row.after, 4),
        "place_before": row.before_rank,
        "place_after": row.after_rank,
    }


def _health(shown: dict[str, Any]) -> dict[str, Any]:
    rates = [{name: rate[name] for name in RateOut.model_fields} for rate in shown["rates"]]
    return {"finished": shown["row"].finished, "error": shown["row"].error, "rates": rates}
