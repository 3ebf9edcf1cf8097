"""What is published: the rows of the boards."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema

from benchmark_tasks.models import Suite
from leaderboard.api.catalogue import LeftOut, Versioned
from leaderboard.api.paging import Page, Paging, paged
from leaderboard.api.problems import valid
from leaderboard.board.board import DEFAULT_SORT, board_rows, categories_of, visible_entries
from leaderboard.filters import BoardFilter
from leaderboard.http import asked_version
from submissions.enums import Inputs

if TYPE_CHECKING:
    from leaderboard.board.board import BoardRow, LabelsCell, TestsCell

router = Router(tags=["Boards"])

Sort = Literal[
    "tests", "judge", "human", "final", "system", "date", "-tests", "-judge", "-human", "-final", "-system", "-date"
]


class TestsOut(Schema):
    """Unit tests: how many of ``tasks`` pass, as a percentage with its 95 % interval."""

    __test__ = False

    percent: float
    low: float | None
    high: float | None
    passed: float
    tasks: int


class LabelsOut(Schema):
    """One rater's labels as percentages of ``tasks``; the rest were not labelled, or the rater ``abstained``."""

    cc: float
    lc: float
    li: float
    labelled: float
    abstained: float
    tasks: int
    judge: str


class RowOut(Schema):
    """One row. A rater that said nothing is null, never zero. ``calibration`` samples are not ranked."""

    system: str
    system_slug: str
    backbone: str
    scaffold: str
    organisation: str
    inputs: str
    reported: bool
    calibration: bool
    provenance: str
    tests: TestsOut | None
    judge: LabelsOut | None
    human: LabelsOut | None
    final: LabelsOut | None
    unpublished: int
    date: datetime | None
    remarks: list[str]
    left_out: list[LeftOut]
    flagged: list[str]
    page: str


class Wanted(Versioned):
    """Which rows are asked for, in which order."""

    category: str = Field("", description="A category's slug; overall without it.")
    q: str = Field("", description="Words in a system's name, backbone, scaffold or organisation.")
    inputs: Literal["", *Inputs.values] = ""  # type: ignore[valid-type]
    show: Literal["all", "measured", "reported"] = "all"
    sort: Sort = DEFAULT_SORT


@router.get("/suites/{slug:suite}/board", response=Page[RowOut])
def list_rows(request: HttpRequest, suite: str, asked: Query[Wanted], paging: Query[Paging]) -> dict[str, Any]:
    """The published rows of a suite's board, overall or in one category."""
    version = asked_version(request, get_object_or_404(Suite, slug=suite))
    if version is None:
        return paged(request, [], paging, lambda shown: shown)
    category = next((each for each in categories_of(version) if each.slug == asked.category), None)
    if asked.category and category is None:
        raise Http404
    found = BoardFilter(request.GET, queryset=visible_entries().filter(suite_version=version))
    valid(found.form)
    return paged(request, board_rows(found.qs, category=category, sort=asked.sort), paging, lambda s: map(row_out, s))


def row_out(row: BoardRow) -> dict[str, Any]:
    """A row of the board as data."""
    told = ("system", "system_slug", "backbone", "scaffold", "organisation", "inputs", "reported", "calibration")
    more = ("provenance", "unpublished", "date", "remarks", "left_out", "flagged")
    return {
        **{name: getattr(row, name) for name in (*told, *more)},
        "tests": tests_out(row.tests),
        **{rater: labels_out(getattr(row, rater)) for rater in ("judge", "human", "final")},
        "page": row.address,
    }


def tests_out(cell: TestsCell | None) -> dict[str, Any] | None:
    """The unit tests of a row as data."""
    return None if cell is None else {name: _rounded(getattr(cell, name)) for name in TestsOut.model_fields}


def labels_out(cell: LabelsCell | None) -> dict[str, Any] | None:
    """One rater's labels of a row as data."""
    return None if cell is None else {name: _rounded(getattr(cell, name)) for name in LabelsOut.model_fields}


def _rounded(value: object) -> object:
    """A number as exact as anybody can use it: what counting in binary adds is left out."""
    return round(value, 4) if isinstance(value, float) else value
