"""Show boards: landing page, table and matrix."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, cast

from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.template.loader import get_template
from django.views.decorators.http import require_safe
from django_htmx.http import push_url
from django_htmx.middleware import HtmxDetails

from benchmark_tasks.models import Suite
from leaderboard.board.caching import WRITTEN, keep, kept_rows, key_of
from leaderboard.board.columns import (
    COLUMNS,
    DEFAULT_SORT,
    FILE_COLUMNS,
    SORT_KEYS,
    file_row,
    headings,
    requested_columns,
    sorted_metrics,
    unused_columns,
)
from leaderboard.board.facets import board_context, filter_choices, published_on
from leaderboard.board.filters import BoardFilter
from leaderboard.board.folding import folded, folds, may_fold, partial_of, with_partial
from leaderboard.board.later_papers import counted_on, later, sorted_on
from leaderboard.board.matrix import FILE_COLUMNS as MATRIX_COLUMNS
from leaderboard.board.matrix import TASK_ORDERS, arranged, cells, file_rows
from leaderboard.board.query_strings import query_with, requested_sort, requested_version
from leaderboard.board.rows import board_metrics
from leaderboard.board.states import changes_of, state_of
from leaderboard.board.visibility import closed, closed_submissions, without_numbers
from leaderboard.models import EntryMetric
from leaderboard.web.page_cache import kept_by
from leaderboard.web.table_files import HIDDEN, file_requested, table_file
from submissions.enums import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse, QueryDict

    from leaderboard.board.columns import Column
    from leaderboard.board.matrix import MatrixTask
    from leaderboard.board.row import BoardRow

MATRIX: Final = "leaderboard/matrix.html"
MOST_FILE_ROWS: Final = 10_000
PAGE_ROWS: Final = {"": 50, "all": 500}
"""Value of ``?rows=`` -> number of rows on a page."""


def data_version(_request: HttpRequest, suite: str | None = None, **_: object) -> str | None:
    """Return the version of the data of a suite's boards (by default the first suite's); None if there is none."""
    slug = suite or Suite.objects.values_list("slug", flat=True).first()
    changed = changes_of(slug) if slug else None
    return f"{slug} {changed}" if changed else None


@require_safe
@kept_by(data_version)
def board_default(request: HttpRequest) -> HttpResponse:
    """Show the first suite's board at the site's root."""
    suite = Suite.objects.first()
    if suite is None:
        return render(request, "leaderboard/no_suites.html")
    return _board(request, suite.slug, "leaderboard/board.html")


@require_safe
@kept_by(data_version)
def board(request: HttpRequest, suite: str) -> HttpResponse:
    """Show a suite's board, overall or in one category."""
    return _board(request, suite, "leaderboard/board.html")


@require_safe
@kept_by(data_version)
def matrix(request: HttpRequest, suite: str) -> HttpResponse:
    """Show the rows of a suite's board task by task."""
    return _board(request, suite, MATRIX)


def _board(request: HttpRequest, slug: str, template: str) -> HttpResponse:
    version = requested_version(request, slug)
    if version is None:
        return render(request, "leaderboard/board_empty.html", {"suite": get_object_or_404(Suite, slug=slug)})
    suite = version.suite
    state = state_of(version)
    around = board_context(version, state)
    category = next((each for each in around.categories if each.slug == request.GET.get("category")), None)
    if request.GET.get("category") and category is None:
        raise Http404("This suite has no task in that category.")
    published = published_on(version, state)
    facets = filter_choices(around, published)
    found = BoardFilter(request.GET, queryset=board_metrics(version, category, Kind.RANKED), facets=facets)
    sort = requested_sort(request.GET, SORT_KEYS, DEFAULT_SORT)
    order = "difficulty" if request.GET.get("tasks") == "difficulty" else "category"
    hidden = closed_submissions(request)
    # With few rows, the pass rate reveals each row's result.
    rates = [] if hidden else state.pass_rates
    tasks = arranged(around.tasks, rates, category=category.slug if category else "", order=order)
    month = found.form.cleaned_data.get("papers", "") if found.is_bound and found.form.is_valid() else ""
    tasks = later(tasks, month) if month else tasks
    by_system = folds(request.GET) and not file_requested(request)
    listed = sorted_metrics(folded(found.qs) if by_system else found.qs, sort, hidden=hidden)
    in_order = sorted_on(listed[:MOST_FILE_ROWS], tasks, sort, hidden=hidden) if month else listed

    def read(part: QuerySet[EntryMetric] | list[int]) -> list[BoardRow]:
        some = EntryMetric.objects.filter(pk__in=part) if isinstance(part, list) else part
        rows = without_numbers(kept_rows(some, state, category), hidden)
        return counted_on(rows, tasks, month, part if isinstance(part, list) else []) if month else rows

    if file_requested(request):
        return _file(request, suite, read(in_order[:MOST_FILE_ROWS]), tasks, by_task=template == MATRIX)
    paginator = Paginator(in_order, PAGE_ROWS.get(request.GET.get("rows", ""), PAGE_ROWS[""]))
    if not month:
        # Counting 100,000 rows takes a third of the page's time; their number changes only with results and names.
        made_from = (
            version.pk,
            state.surroundings,
            state.results,
            category and category.pk,
            found.requested,
            by_system,
        )
        paginator.count = keep(listed.count, "count", *made_from)
    page = paginator.get_page(request.GET.get("page"))
    rows = read(cast("QuerySet[EntryMetric]", page.object_list))
    if by_system:
        rows = with_partial(rows, read(partial_of(rows, version, category)))
    calibration = sorted_metrics(board_metrics(version, category, Kind.CALIBRATION), sort, hidden=hidden)
    samples = read(calibration) if published.has_samples else []
    columns = requested_columns(request.GET, without=unused_columns([*rows, *samples]))
    shown = {
        "columns": {column.key for column in columns},
        "heads": columns,
        "tasks": tasks,
        "judge": around.judge,
        "by_system": by_system,
    }
    context = {
        **shown,
        **_controls(request, suite, found, facets, columns),
        "suite": suite,
        "SUITES": around.suites,
        "version": version,
        "around": around,
        "published": published,
        "narrowed": found.narrowed,
        "some_folded": by_system and any(row.folded for row in rows),
        "may_fold": may_fold(request.GET) and not by_system,
        "category": category,
        "month": month,
        "closed": closed(request),
        "page": page,
        "rows": _written(rows, shown, matrix=template == MATRIX),
        "samples": _written(samples, shown, matrix=template == MATRIX),
        "left_out": next((row.not_counted for row in (*rows, *samples) if row.not_counted), ()),
        "flagged": any(row.flagged for row in (*rows, *samples)),
        "task_orders": [(each, query_with(request.GET, tasks=each)) for each in TASK_ORDERS],
        "task_order": order,
        "groups": _groups(request.GET, tasks),
        "few": any(row.tests and row.tests.few for row in rows),
    }
    response = render(request, template, context)
    address = f"{request.path}{query_with(request.GET)}".removesuffix("?")
    return push_url(response, address) if HtmxDetails(request) else response


def _written(rows: list[BoardRow], shown: Mapping[str, Any], *, matrix: bool) -> list[str]:
    """Return each row as HTML, cached until its data change: a new page usually differs by one or two rows."""
    template = get_template(f"leaderboard/partials/{'matrix' if matrix else 'board'}_row.html")
    tasks, judge = [(task.slug, task.starts) for task in shown["tasks"]], shown["judge"] and shown["judge"].slug
    common = key_of(matrix, [column.key for column in shown["heads"]], tasks, judge, shown["by_system"])
    by_key = {key_of(common, row.stamp or row, row.closed): row for row in rows}
    kept = WRITTEN.get_many(by_key)
    new = {
        key: template.render({**shown, "row": row, "cells": cells(row, shown["tasks"])})
        for key, row in by_key.items()
        if key not in kept
    }
    WRITTEN.set_many(new)
    written = kept | new
    return [written[key] for key in by_key]


def _controls(
    request: HttpRequest, suite: Suite, found: BoardFilter, facets: Mapping[str, Any], columns: list[Column]
) -> dict[str, str]:
    """Return ``filters`` above the board and its table's ``head`` as HTML, cached.

    They are made from the address, the choices of the filters, and the columns.
    """

    def write() -> dict[str, str]:
        context = {
            "request": request,
            "suite": suite,
            "filter": found,
            "kept": [(name, request.GET.get(name, "")) for name in ("sort", "version", "tasks", "rows", "fold")],
            "all_columns": COLUMNS,
            "columns": {column.key for column in columns},
            "headings": headings(request.GET, columns),
        }
        names = {"filters": "board_filters", "head": "board_head"}
        return {part: get_template(f"leaderboard/partials/{name}.html").render(context) for part, name in names.items()}

    made_from = (request.path, suite.slug, sorted(request.GET.lists()), facets, [column.key for column in columns])
    return keep(write, "controls", *made_from)


def _file(
    request: HttpRequest, suite: Suite, rows: list[BoardRow], tasks: list[MatrixTask], *, by_task: bool
) -> HttpResponse:
    site = request.build_absolute_uri("/").rstrip("/")
    if by_task:
        return table_file(
            request,
            name=f"{suite.slug}-matrix",
            columns=(*MATRIX_COLUMNS, HIDDEN),
            rows=[(*line, row.closed) for row in rows for line in file_rows(row, tasks, site)],
            suite=suite.slug,
        )
    return table_file(
        request,
        name=f"{suite.slug}-board",
        columns=(*FILE_COLUMNS, HIDDEN),
        rows=[(*file_row(row, site), row.closed) for row in rows],
        suite=suite.slug,
    )


def _groups(params: QueryDict, tasks: list[MatrixTask]) -> list[dict[str, Any]]:
    """Return the categories above the matrix: title, number of tasks, and query string of the category's matrix."""
    numbers = Counter((task.category, task.category_slug) for task in tasks)
    return [
        {"title": title, "tasks": number, "query": query_with(params, category=slug) if slug else ""}
        for (title, slug), number in numbers.items()
    ]
