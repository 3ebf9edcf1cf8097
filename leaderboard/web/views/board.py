"""Show boards: landing page, table and matrix."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from django.shortcuts import get_object_or_404, render
from django.template.loader import get_template
from django.utils import timezone
from django.views.decorators.http import require_safe
from django_htmx.http import push_url
from django_htmx.middleware import HtmxDetails

from benchmark_tasks.facts.categories import CATEGORIES
from benchmark_tasks.models import Suite
from leaderboard.board.caching import WRITTEN, keep, key_of
from leaderboard.board.columns import COLUMNS, FILE_COLUMNS, file_row, headings, requested_columns, unused_columns
from leaderboard.board.folding import may_fold
from leaderboard.board.matrix import FILE_COLUMNS as MATRIX_COLUMNS
from leaderboard.board.matrix import TASK_ORDERS, cells, file_rows
from leaderboard.board.query_strings import query_with, requested_version
from leaderboard.board.states import changes_of
from leaderboard.board.suites import summarised
from leaderboard.board.visibility import closed
from leaderboard.insight.disagreements import striking
from leaderboard.insight.site_numbers import newest_rows, site_numbers
from leaderboard.web.listing import Listing
from leaderboard.web.page_cache import kept_by
from leaderboard.web.table_files import HIDDEN, file_requested, table_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from django.http import HttpRequest, HttpResponse, QueryDict

    from leaderboard.board.columns import Column
    from leaderboard.board.matrix import MatrixTask
    from leaderboard.board.row import BoardRow

MATRIX: Final = "leaderboard/matrix.html"


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
        suite = get_object_or_404(Suite, slug=slug)
        return render(
            request, "leaderboard/board_empty.html", {"suite": suite, "suites": summarised(Suite.objects.all())}
        )
    listing = Listing(request, version)
    if file_requested(request):
        return _file(request, listing, by_task=template == MATRIX)
    rows, samples = listing.rows, listing.samples()
    columns = requested_columns(request.GET, without=unused_columns([*rows, *samples]))
    shown = {
        "columns": {column.key for column in columns},
        "heads": columns,
        "tasks": listing.tasks,
        "judge": listing.around.judge,
        "by_system": listing.by_system,
    }
    context = {
        **shown,
        **_controls(request, listing, columns),
        "suite": version.suite,
        "version": version,
        "around": listing.around,
        "published": listing.published,
        "finding": listing.finding,
        "narrowed": listing.found.narrowed,
        "some_folded": listing.by_system and any(row.folded for row in rows),
        "may_fold": may_fold(request.GET) and not listing.by_system,
        "category": listing.category,
        "month": listing.month,
        "closed": closed(request),
        "page": listing.page,
        "rows": _written(rows, shown, matrix=template == MATRIX),
        "samples": _written(samples, shown, matrix=template == MATRIX),
        "left_out": next((row.not_counted for row in (*rows, *samples) if row.not_counted), ()),
        "flagged": any(row.flagged for row in (*rows, *samples)),
        "few": any(row.tests and row.tests.few for row in rows),
        **(_of_matrix(request.GET, listing) if template == MATRIX else _of_board(listing)),
    }
    response = render(request, template, context)
    address = f"{request.path}{query_with(request.GET)}".removesuffix("?")
    return push_url(response, address) if HtmxDetails(request) else response


def _of_board(listing: Listing) -> dict[str, Any]:
    """Return what a board's page shows below its table. The site's numbers are counted every ten minutes."""
    now = timezone.now()
    return {
        "disagreements": striking(listing.best, listing.around.tasks),
        "newest": newest_rows(listing.version, listing.state, listing.hidden),
        "numbers": keep(site_numbers, "numbers", f"{now:%Y-%m-%d %H}", now.minute // 10),
    }


def _of_matrix(params: QueryDict, listing: Listing) -> dict[str, Any]:
    """Return the orders of the matrix's tasks as (order, query string), and its groups of columns."""
    return {
        "task_orders": [(each, query_with(params, tasks=each)) for each in TASK_ORDERS],
        "task_order": listing.task_order,
        "groups": _groups(params, listing.tasks),
    }


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


def _controls(request: HttpRequest, listing: Listing, columns: list[Column]) -> dict[str, str]:
    """Return the parts of a board's page that do not depend on its rows as HTML, cached.

    ``filters``, the table's ``head``, ``sources`` (the legend of rows) and ``quick_start`` are made from the address,
    the choices of the filters, and the columns.
    """
    suite, quick = listing.version.suite, listing.around.quick
    site = f"{request.scheme}://{request.get_host()}"

    def write() -> dict[str, str]:
        context = {
            "request": request,
            "suite": suite,
            "filter": listing.found,
            "kept": [(name, request.GET.get(name, "")) for name in ("sort", "version", "tasks", "rows", "fold")],
            "all_columns": COLUMNS,
            "columns": {column.key for column in columns},
            "headings": headings(request.GET, columns),
        }
        names = {"filters": "board_filters", "head": "board_head", "sources": "legend_sources"}
        parts = {
            part: get_template(f"leaderboard/partials/{name}.html").render(context) for part, name in names.items()
        }
        first = {"request": request, "suite": quick}
        return {**parts, "quick_start": get_template("submissions/quick_start.html").render(first) if quick else ""}

    keys = [column.key for column in columns]
    made_from = (
        request.path,
        site,
        suite.slug,
        quick and quick.slug,
        sorted(request.GET.lists()),
        listing.facets,
        keys,
    )
    return keep(write, "controls", *made_from)


def _file(request: HttpRequest, listing: Listing, *, by_task: bool) -> HttpResponse:
    site = request.build_absolute_uri("/").rstrip("/")
    slug, rows = listing.version.suite.slug, listing.file_rows()
    if by_task:
        return table_file(
            request,
            name=f"{slug}-matrix",
            columns=(*MATRIX_COLUMNS, HIDDEN),
            rows=[(*line, row.closed) for row in rows for line in file_rows(row, listing.tasks, site)],
            suite=slug,
        )
    return table_file(
        request,
        name=f"{slug}-board",
        columns=(*FILE_COLUMNS, HIDDEN),
        rows=[(*file_row(row, site), row.closed) for row in rows],
        suite=slug,
    )


def _groups(params: QueryDict, tasks: list[MatrixTask]) -> list[dict[str, Any]]:
    """Return the categories above the matrix: titles, number of tasks, and query string of the category's matrix."""
    short = {each.slug: each.short for each in CATEGORIES}
    numbers = Counter((task.category, task.category_slug) for task in tasks)
    return [
        {
            "title": title,
            "short": short.get(slug, title),
            "tasks": number,
            "query": query_with(params, category=slug) if slug else "",
        }
        for (title, slug), number in numbers.items()
    ]
