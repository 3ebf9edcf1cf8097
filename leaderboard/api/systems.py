"""Serve systems with their published rows, and runs that others reported."""

from __future__ import annotations

from datetime import UTC, date
from typing import TYPE_CHECKING, Any, cast

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema

from leaderboard.api.paging import Page, Paging, paged
from leaderboard.api.schemas import filled
from leaderboard.board.neighbours import neighbours_of
from leaderboard.board.results import runs_of_system
from leaderboard.board.row import BoardRow, LabelsCell, TestsCell
from leaderboard.board.rows import board_row, visible_entries
from leaderboard.board.visibility import closed_submissions
from submissions.domain.access import may_see_unpublished
from submissions.enums import Confirmed
from submissions.models import System

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from leaderboard.board.results import SystemRun
    from leaderboard.models import Entry, ReportedRun

router = Router(tags=["Systems"])


class SystemOut(Schema):
    """A backbone model and the scaffold around it; either may be ``none``."""

    slug: str
    name: str
    backbone: str
    scaffold: str
    organisation: str
    organisation_confirmed: Confirmed | None = Field(
        description="domain or hand: how the right to the organisation's name was confirmed; null if it is declared "
        "without confirmation, or reported."
    )
    organisation_confirmed_on: date | None = Field(description="The day of the confirmation (UTC).")
    weights: str
    knowledge_cutoff: str
    links: list[str]
    page: str


class CategoryOut(Schema):
    """The numbers of one category."""

    category: str
    tests: TestsCell | None
    judge: LabelsCell | None
    human: LabelsCell | None


class SystemRunOut(BoardRow):
    """A published row of a system with its numbers per category; without numbers while you label one of its answers."""

    suite: str
    suite_version: int
    categories: list[CategoryOut]


class NeighbourOut(Schema):
    """Another system's row adjacent to this system's best row on a suite version, and the page that compares them.

    ``place`` is ``next above``, ``next below`` or ``level with it``.
    """

    suite: str
    suite_version: int
    place: str
    row: BoardRow
    compare: str


class SystemDetail(SystemOut):
    """A system with all its published rows, and the rows adjacent to its leading ones."""

    runs: list[SystemRunOut]
    neighbours: list[NeighbourOut]


class ReportedRunOut(Schema):
    """A run reported elsewhere. ``source`` is where it was reported.

    Runs with ``remeasures`` have the outcomes of that run's published answers in the sealed tests of
    ``evaluator_version``, on the day ``measured``. These are empty or null for the others.
    """

    slug: str
    suite: str
    system: SystemOut
    inputs: str
    source: str
    remeasures: str
    evaluator_version: str
    measured: date | None
    page: str


class ReportedResultOut(Schema):
    """A reported result on one task; values that were not reported are null or empty.

    ``outcome`` is that of the sealed test, for answers that were measured again.
    """

    task: str
    tests_passed: bool | None
    tests_note: str
    outcome: str
    judge_label: str
    annotators_label: str


class ReportedRunDetail(ReportedRunOut):
    """A reported run with its numbers and its result on every task."""

    row: BoardRow
    results: list[ReportedResultOut]


def system_out(system: System) -> dict[str, Any]:
    """Return a system as data."""
    used = system.confirmation
    confirmed_on = used.created.astimezone(UTC).date() if used else None
    return filled(SystemOut, system, organisation_confirmed_on=confirmed_on, page=system.get_absolute_url())


@router.get("/systems", response=Page[SystemOut])
def list_systems(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """List every system with published rows, by name."""
    shown = System.objects.filter(pk__in=visible_entries().values("system")).select_related("confirmation")
    shown = shown.order_by("name", "slug")
    return paged(request, shown, paging, lambda systems: map(system_out, systems))


@router.get("/systems/{slug:slug}", response=SystemDetail)
def get_system(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Get one system with its rows on every suite. Only its owners and maintainers see a system without rows."""
    system = get_object_or_404(System.objects.select_related("confirmation"), slug=slug)
    hidden = closed_submissions(request)
    runs = runs_of_system(system, hidden)
    is_own = may_see_unpublished(request.user, system)
    if not runs and not is_own:
        raise Http404
    return {
        **system_out(system),
        "runs": [_run(run) for run in runs],
        "neighbours": list(_neighbours(runs, hidden)),
    }


@router.get("/reported", response=Page[ReportedRunOut])
def list_reported_runs(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """List every reported run."""
    shown = visible_entries().filter(reported_run__isnull=False)
    shown = shown.select_related("reported_run__suite", "reported_run__remeasures", "system")
    return paged(request, shown.order_by("reported_run__slug"), paging, lambda entries: map(_reported, entries))


@router.get("/reported/{str:slug}", response=ReportedRunDetail)
def get_reported_run(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Get one reported run: its row, and its result on every task."""
    if not slug.isprintable():
        # PostgreSQL refuses NUL characters in queries.
        raise Http404
    entry = get_object_or_404(
        visible_entries().select_related("reported_run__suite", "reported_run__remeasures", "system", "suite_version"),
        reported_run__slug=slug,
    )
    run = cast("ReportedRun", entry.reported_run)
    overall = entry.metrics.filter(category=None).first()
    results = run.results.select_related("task").order_by("task__paper__folder_name", "task__index")
    return {
        **_reported(entry),
        "row": board_row(entry, overall, 0),
        "results": [
            {
                "task": result.task.slug,
                "tests_passed": result.tests_passed,
                "tests_note": result.tests_note,
                "outcome": result.outcome,
                "judge_label": result.judge_label,
                "annotators_label": result.human_label,
            }
            for result in results
        ],
    }


def _reported(entry: Entry) -> dict[str, Any]:
    run = cast("ReportedRun", entry.reported_run)
    return {
        "slug": run.slug,
        "suite": run.suite.slug,
        "system": system_out(entry.system),
        "inputs": entry.inputs,
        "source": run.source_address,
        "remeasures": run.remeasures.slug if run.remeasures else "",
        "evaluator_version": run.evaluator_version,
        "measured": run.measured,
        "page": entry.get_absolute_url(),
    }


def _neighbours(runs: list[SystemRun], hidden: Collection[int]) -> Iterator[dict[str, Any]]:
    versions = {run.entry.suite_version_id: run.entry.suite_version for run in runs}
    for pk, found in neighbours_of(runs, hidden).items():
        suite, number = versions[pk].suite.slug, versions[pk].number
        for word, row, compare in found:
            yield {"suite": suite, "suite_version": number, "place": word, "row": row, "compare": compare}


def _run(run: SystemRun) -> dict[str, Any]:
    return {
        **dict(run.row),
        "suite": run.entry.suite_version.suite.slug,
        "suite_version": run.entry.suite_version.number,
        "categories": [
            {
                "category": each["category"].slug,
                "tests": each["tests"],
                "judge": each["judge"],
                "human": each["human"],
            }
            for each in run.categories
        ],
    }
