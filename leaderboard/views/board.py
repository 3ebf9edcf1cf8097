"""The boards: landing page, table and matrix."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from django.core.cache import caches
from django.core.paginator import Paginator
from django.db.models import Sum
from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django_htmx.http import push_url
from django_htmx.middleware import HtmxDetails

from benchmark_tasks.domain.queries import has_code
from benchmark_tasks.models import Suite, SuiteVersion
from leaderboard.board.board import board_metrics, board_rows, categories_of, facets_of, visible_entries
from leaderboard.board.columns import (
    COLUMNS,
    DEFAULT_SORT,
    FILE_COLUMNS,
    SORT_KEYS,
    asked_columns,
    file_row,
    headings,
    sorted_metrics,
)
from leaderboard.board.labels import shown_judge
from leaderboard.board.matrix import FILE_COLUMNS as MATRIX_COLUMNS
from leaderboard.board.matrix import TASK_ORDERS, cells, file_rows, matrix_tasks
from leaderboard.closing import closed
from leaderboard.filters import BoardFilter
from leaderboard.http import asked_sort, asked_version, query_with
from leaderboard.models import BoardState
from leaderboard.models.board import Marks
from leaderboard.page_cache import PAGES, kept_by
from leaderboard.runs.action_charts import has_trajectories
from leaderboard.tables import file_asked, table_file
from submissions.enums import Kind

if TYPE_CHECKING:
    from typing import Any

    from django.http import HttpRequest, HttpResponse, QueryDict

    from benchmark_tasks.models import Category
    from leaderboard.board.board import BoardRow
    from leaderboard.board.matrix import MatrixTask

MATRIX: Final = "leaderboard/matrix.html"
MOST_FILE_ROWS: Final = 10_000
PAGE_ROWS: Final = {"": 50, "all": 500}
"""What ``?rows=`` may ask for."""


def data_version(_request: HttpRequest, suite: str | None = None) -> str | None:
    """The version of what the boards of a suite show (of the first one without ``suite``); None where there is none."""
    slug = suite or Suite.objects.values_list("slug", flat=True).first()
    changed = BoardState.objects.filter(suite_version__suite__slug=slug).aggregate(changed=Sum("changed"))["changed"]
    return changed and f"{slug} {changed}"


@kept_by(data_version)
def board_default(request: HttpRequest) -> HttpResponse:
    """The first suite's board, at the site's root."""
    suite = Suite.objects.first()
    if suite is None:
        return render(request, "leaderboard/no_suites.html")
    return _board(request, suite, "leaderboard/board.html")


@kept_by(data_version)
def board(request: HttpRequest, suite: str) -> HttpResponse:
    """One suite's board, overall or in one category, as the address asks."""
    return _board(request, get_object_or_404(Suite, slug=suite), "leaderboard/board.html")


@kept_by(data_version)
def matrix(request: HttpRequest, suite: str) -> HttpResponse:
    """The same rows, task by task."""
    return _board(request, get_object_or_404(Suite, slug=suite), MATRIX)


def _board(request: HttpRequest, suite: Suite, template: str) -> HttpResponse:
    version = asked_version(request, suite)
    if version is None:
        return render(request, "leaderboard/board_empty.html", {"suite": suite})
    categories = categories_of(version)
    category = next((each for each in categories if each.slug == request.GET.get("category")), None)
    if request.GET.get("category") and category is None:
        raise Http404("This suite has no task in that category.")
    state = BoardState.objects.filter(suite_version=version).first()
    metrics = board_metrics(version, category)
    facets = _facets(version, categories, state)
    found = BoardFilter(request.GET, queryset=metrics.filter(entry__kind=Kind.RANKED), facets=facets)
    sort = asked_sort(request.GET, SORT_KEYS, DEFAULT_SORT)
    size = PAGE_ROWS.get(request.GET.get("rows", ""), PAGE_ROWS[""])
    page = Paginator(sorted_metrics(found.qs, sort), size).get_page(request.GET.get("page"))
    calibration = metrics.filter(entry__kind=Kind.CALIBRATION)
    # How many pass a task tells of few rows what each does.
    rates = None if closed(request) else state
    order = "difficulty" if request.GET.get("tasks") == "difficulty" else "category"
    tasks = matrix_tasks(version, rates, category=category, order=order)
    if file_asked(request):
        everything = board_rows(list(sorted_metrics(found.qs, sort)[:MOST_FILE_ROWS]), version, category)
        return _file(request, suite, without_closed(request, everything), tasks, by_task=template == MATRIX)
    rows = without_closed(request, board_rows(list(page.object_list), version, category))
    samples = without_closed(request, board_rows(list(sorted_metrics(calibration, sort)), version, category))
    columns = asked_columns(request.GET, without=_unused(rows))
    context = {
        "suite": suite,
        "version": version,
        "other_versions": _other_versions(suite, version),
        "takes_answers": has_code(version),
        "filter": found,
        "kept": [(name, request.GET.get(name, "")) for name in ("sort", "version", "tasks", "rows")],
        "category": category,
        "all_columns": COLUMNS,
        "columns": {column.key for column in columns},
        "headings": headings(request.GET, columns),
        "page": page,
        "rows": [(row, cells(row, tasks)) for row in rows],
        "samples": [(row, cells(row, tasks)) for row in samples],
        "left_out": next((row.left_out for row in (*rows, *samples) if row.left_out), ()),
        "flagged": any(row.flagged for row in (*rows, *samples)),
        "tasks": tasks,
        "task_orders": [(each, query_with(request.GET, tasks=each)) for each in TASK_ORDERS],
        "task_order": order,
        "groups": _groups(request.GET, tasks, categories),
        "few": any(row.tests and row.tests.few for row in rows),
        "compact": request.GET.get("density") == "compact",
        "judge": shown_judge(suite.pk),
        "has_actions": has_trajectories(version),
    }
    response = render(request, template, context)
    return push_url(response, request.path + query_with(request.GET)) if HtmxDetails(request) else response


def without_closed(request: HttpRequest, rows: list[BoardRow]) -> list[BoardRow]:
    """The rows, without the marks of submissions of which whoever asks is labelling an answer.

    Not only that answer's: it is what the total has more than the others show.
    """
    hidden = {each.case.implementation.submission_id for each in closed(request)}
    return [replace(row, marks=Marks(), closed=True) if row.submission in hidden else row for row in rows]


def _file(
    request: HttpRequest, suite: Suite, rows: list[BoardRow], tasks: list[MatrixTask], *, by_task: bool
) -> HttpResponse:
    site = request.build_absolute_uri("/").rstrip("/")
    if by_task:
        lines = [line for row in rows for line in file_rows(row, tasks, site)]
        return table_file(request, name=f"{suite.slug}-matrix", columns=MATRIX_COLUMNS, rows=lines, suite=suite.slug)
    return table_file(
        request,
        name=f"{suite.slug}-board",
        columns=FILE_COLUMNS,
        rows=[file_row(row, site) for row in rows],
        suite=suite.slug,
    )


def _facets(
    version: SuiteVersion, categories: list[Category], state: BoardState | None
) -> dict[str, list[tuple[str, str]]]:
    """The choices of the board's filters that depend on its rows: read once for each version of its data."""
    key = f"facets-{version.pk}-{state.changed if state else 0}"
    kept: dict[str, list[tuple[str, str]]] | None = caches[PAGES].get(key)
    if kept is None:
        kept = facets_of(version) | {"category": [(each.slug, each.title) for each in categories]}
        caches[PAGES].set(key, kept)
    return kept


def _groups(params: QueryDict, tasks: list[MatrixTask], categories: list[Category]) -> list[dict[str, Any]]:
    """The categories above the matrix: title, number of tasks, and the address of each one's own matrix."""
    slugs = {category.title: category.slug for category in categories}
    numbers = Counter(task.category for task in tasks)
    return [
        {"title": title, "tasks": number, "query": query_with(params, category=slugs[title]) if title in slugs else ""}
        for title, number in numbers.items()
    ]


def _unused(rows: list[BoardRow]) -> set[str]:
    """Columns that would say nothing of any of the rows."""
    said = {
        "rank": any(row.rank for row in rows),
        "final": any(row.final is not None and row.final.by_annotators for row in rows),
        "cost": any(row.cost is not None for row in rows),
        "date": any(row.date for row in rows),
        "marks": any(row.marks for row in rows),
    }
    return {key for key, says in said.items() if not says}


def _other_versions(suite: Suite, shown: SuiteVersion) -> list[dict[str, Any]]:
    """The other versions on which something is published: their rows are not comparable with these."""
    published = visible_entries().exclude(suite_version=shown).values("suite_version")
    versions = SuiteVersion.objects.filter(suite=suite, pk__in=published)
    return [{"number": version.number, "query": f"?version={version.number}"} for version in versions]
