"""Return the published rows of boards, and the same rows task by task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from django.http import Http404, HttpRequest
from ninja import Field, Query, Router, Schema

from leaderboard.api.catalogue import Versioned, known_suite
from leaderboard.api.paging import Page, Paging, paged
from leaderboard.api.problems import valid
from leaderboard.board.columns import DEFAULT_SORT, SORT_KEYS, sorted_metrics
from leaderboard.board.facets import board_context, filter_choices, published_on
from leaderboard.board.filters import BoardFilter
from leaderboard.board.matrix import arranged, results_on
from leaderboard.board.query_strings import requested_version
from leaderboard.board.row import BoardRow, Rounded
from leaderboard.board.rows import board_metrics, board_rows
from leaderboard.board.states import state_of
from leaderboard.board.visibility import closed_submissions, without_numbers
from leaderboard.models.enums import Provenance
from submissions.enums import Inputs, Kind, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import QuerySet

    from benchmark_tasks.models import Category, SuiteVersion
    from leaderboard.board.matrix import MatrixTask
    from leaderboard.models import EntryMetric

router = Router(tags=["Boards"])

Sort = Literal[*SORT_KEYS, *(f"-{key}" for key in SORT_KEYS)]  # type: ignore[valid-type]


class BoardQuery(Versioned):
    """The selection of rows, and their order."""

    category: str = Field("", description="A category's slug; overall without it.")
    q: str = Field("", description="Words in a system's name, backbone, scaffold or organisation.")
    inputs: Literal["", *Inputs.values] = ""  # type: ignore[valid-type]
    weights: Literal["", *Weights.values] = ""  # type: ignore[valid-type]
    show: Literal["all", "measured", *Provenance.values] = Field(  # type: ignore[valid-type]
        "all", description="Rows of one provenance, or all that this site measured itself."
    )
    kind: Literal[*Kind.values] = Kind.RANKED  # type: ignore[valid-type]
    sort: Sort = DEFAULT_SORT  # type: ignore[valid-type]


class MarksOut(Schema):
    """The results of one task: the share of trials that pass, and each rater's label (``A`` abstained, ``M`` mixed)."""

    task: str
    category: str
    tests: Rounded | None
    judge: str
    annotators: str


class TaskRowOut(Schema):
    """A row with its marks, which are empty if only totals were published, or while you label an answer of it.

    In the latter case ``hidden_while_you_label`` is true.
    """

    key: str
    system: str
    inputs: str
    marks: list[MarksOut]
    hidden_while_you_label: bool


@router.get("/suites/{slug:suite}/board", response=Page[BoardRow])
def list_rows(request: HttpRequest, suite: str, query: Query[BoardQuery], paging: Query[Paging]) -> dict[str, Any]:
    """List the published rows of a suite's board, overall or in one category."""
    found = _found(request, suite, query)
    if found is None:
        return paged(request, [], paging, lambda shown: shown)
    version, category, _, metrics = found

    def shown(part: Any) -> list[BoardRow]:
        return without_numbers(board_rows(part, version, category), closed_submissions(request))

    return paged(request, metrics, paging, shown)


@router.get("/suites/{slug:suite}/matrix", response=Page[TaskRowOut])
def list_marks(request: HttpRequest, suite: str, query: Query[BoardQuery], paging: Query[Paging]) -> dict[str, Any]:
    """List the published rows of a suite's board task by task."""
    found = _found(request, suite, query)
    if found is None:
        return paged(request, [], paging, lambda shown: shown)
    version, category, tasks, metrics = found
    tasks = arranged(tasks, [], category=category.slug if category else "")

    def shown(part: Any) -> list[dict[str, Any]]:
        rows = without_numbers(board_rows(part, version, category), closed_submissions(request))
        return [
            {
                "key": row.key,
                "system": row.system,
                "inputs": row.inputs,
                "marks": _marks(row, tasks),
                "hidden_while_you_label": row.closed,
            }
            for row in rows
        ]

    return paged(request, metrics, paging, shown)


def _found(
    request: HttpRequest, suite: str, query: BoardQuery
) -> tuple[SuiteVersion, Category | None, list[MatrixTask], QuerySet[EntryMetric]] | None:
    """Return version, category, all tasks and the sorted rows of a request; None if the suite has no version."""
    version = requested_version(request, suite)
    if version is None:
        known_suite(suite)  # only a known suite has an empty board
        return None
    state = state_of(version)
    around = board_context(version, state)
    category = next((each for each in around.categories if each.slug == query.category), None)
    if query.category and category is None:
        raise Http404
    metrics = board_metrics(version, category, query.kind)
    facets = filter_choices(around, published_on(version, state))
    found = BoardFilter(request.GET, queryset=metrics, facets=facets)
    if found.is_bound:
        valid(found.form)
    return version, category, around.tasks, sorted_metrics(found.qs, query.sort, hidden=closed_submissions(request))


def _marks(row: BoardRow, tasks: Sequence[MatrixTask]) -> list[dict[str, Any]]:
    marks = []
    for task in tasks if row.marks else ():
        share, judge, human = results_on(row, task)
        about = {"task": task.slug, "category": task.category}
        marks.append({**about, "tests": share, "judge": judge, "annotators": human})
    return marks
