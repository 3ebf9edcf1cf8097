"""Who is measured: systems with something published, and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema

from leaderboard.api.boards import LabelsOut, RowOut, TestsOut, labels_out, row_out, tests_out
from leaderboard.api.paging import Page, Paging, paged
from leaderboard.board.board import visible_entries
from leaderboard.board.results import runs_of_system
from submissions.models import System

if TYPE_CHECKING:
    from leaderboard.board.results import SystemRun

router = Router(tags=["Systems"])


class SystemOut(Schema):
    """A backbone model and the scaffold around it; either may be ``none``."""

    slug: str
    name: str
    backbone: str
    scaffold: str
    organisation: str
    links: list[str]
    page: str


class CategoryOut(Schema):
    """The numbers of one category."""

    category: str
    tests: TestsOut | None
    judge: LabelsOut | None
    human: LabelsOut | None


class SystemRunOut(RowOut):
    """A published row of a system, with its numbers per category."""

    suite: str
    suite_version: int
    categories: list[CategoryOut]


class SystemDetail(SystemOut):
    """A system with everything of it that is published."""

    runs: list[SystemRunOut]


def system_out(system: System) -> dict[str, Any]:
    """A system as data."""
    told = ("slug", "name", "backbone", "scaffold", "organisation", "links")
    return {**{name: getattr(system, name) for name in told}, "page": system.get_absolute_url()}


@router.get("/systems", response=Page[SystemOut])
def list_systems(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """Every system of which something is published, by name."""
    shown = System.objects.filter(pk__in=visible_entries().values("system")).order_by("name", "slug")
    return paged(request, shown, paging, lambda systems: map(system_out, systems))


@router.get("/systems/{slug:slug}", response=SystemDetail)
def get_system(request: HttpRequest, slug: str) -> dict[str, Any]:
    """One system, and its rows on every suite. Without any it is shown to its owner and to maintainers only."""
    system = get_object_or_404(System, slug=slug)
    runs = runs_of_system(system)
    is_own = request.user.is_authenticated and (request.user.is_staff or system.owner_id == request.user.pk)
    if not runs and not is_own:
        raise Http404
    return {**system_out(system), "runs": [_run(run) for run in runs]}


def _run(run: SystemRun) -> dict[str, Any]:
    return {
        **row_out(run.row),
        "suite": run.entry.suite_version.suite.slug,
        "suite_version": run.entry.suite_version.number,
        "categories": [
            {
                "category": each["category"].slug,
                "tests": tests_out(each["tests"]),
                "judge": labels_out(each["judge"]),
                "human": labels_out(each["human"]),
            }
            for each in run.categories
        ],
    }
