"""Show boards: landing page, table and matrix."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

from django.shortcuts import get_object_or_404, render
from django.template.loader import get_template
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe
from django_htmx.http import push_url
from django_htmx.middleware import HtmxDetails

from benchmark_tasks.facts.categories import CATEGORIES
from benchmark_tasks.models import Suite
from leaderboard.board.caching import WRITTEN, keep, key_of
from leaderboard.board.columns import (
    COLUMNS,
    DEFAULT_SORT,
    FILE_COLUMNS,
    file_row,
    headings,
    orders,
    requested_columns,
    unused_columns,
)
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
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from django.http import HttpRequest, HttpResponse, QueryDict
    from django.utils.safestring import SafeString

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
    rows, (samples, more_samples) = listing.rows, listing.samples()
    columns = requested_columns(request.GET, without=unused_columns([*rows, *samples]))
    shown = {
        "columns": {column.key for column in columns},
        "heads": columns,
        "tasks": listing.tasks,
        "judge": listing.around.judge,
        "by_system": listing.by_system,
    }
    controls = _controls(request, listing, columns)
    context = {
        **shown,
        **controls,
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
        "more_samples": more_samples,
        "left_out": next((row.not_counted for row in (*rows, *samples) if row.not_counted), ()),
        "flagged": any(row.flagged for row in (*rows, *samples)),
        "few": any(row.tests and row.tests.few for row in rows),
        **(_of_matrix(request.GET, listing) if template == MATRIX else _of_board(listing, controls["quick_start"])),
    }
    response = render(request, template, context)
    address = f"{request.path}{query_with(request.GET)}".removesuffix("?")
    return push_url(response, address) if HtmxDetails(request) else response


def _of_board(listing: Listing, quick_start: str) -> dict[str, str]:
    """Return the finding above a board's table and what follows below it, as HTML.

    They are cached until a row or a number in them changes. The site's numbers are counted every ten minutes.
    """
    now, suite = timezone.now(), listing.version.suite
    shown = {
        "suite": suite,
        "around": listing.around,
        "finding": listing.finding,
        "disagreements": striking(listing.best, listing.around.tasks),
        "newest": newest_rows(listing.version, listing.state, listing.hidden),
        "numbers": keep(site_numbers, "numbers", f"{now:%Y-%m-%d %H}", now.minute // 10),
        "quick_start": quick_start,
    }
    lines = [(row.stamp or row, row.closed) for row in listing.finding.lines]
    changing = [value for name, value in shown.items() if name not in {"suite", "around", "finding"}]
    made_from = suite.slug, listing.state.surroundings, listing.finding.text, lines, changing
    names = {"above": "finding", "below": "more_to_see"}
    keys = {part: key_of(part, *made_from) for part in names}
    written = _kept_html(
        {
            keys[part]: partial(get_template(f"leaderboard/partials/{name}.html").render, shown)
            for part, name in names.items()
        }
    )
    return {part: written[key] for part, key in keys.items()}


def _kept_html(render: Mapping[str, Callable[[], str]]) -> dict[str, str]:
    """Return key -> HTML for functions that render it, which are called if it is not cached."""
    kept = WRITTEN.get_many(render)
    new = {key: write() for key, write in render.items() if key not in kept}
    WRITTEN.set_many(new)
    return kept | new


def _of_matrix(params: QueryDict, listing: Listing) -> dict[str, Any]:
    """Return the orders of the matrix's tasks as (order, query string), and its groups of columns."""
    return {
        "task_orders": [(each, query_with(params, tasks=each)) for each in TASK_ORDERS],
        "task_order": listing.task_order,
        "groups": _groups(params, listing.tasks),
    }


def _written(rows: list[BoardRow], shown: Mapping[str, Any], *, matrix: bool) -> SafeString:
    """Return rows as HTML, each cached until its data change: a new page usually differs by one or two rows."""
    template = get_template(f"leaderboard/partials/{'matrix' if matrix else 'board'}_row.html")
    tasks, judge = [(task.slug, task.starts) for task in shown["tasks"]], shown["judge"] and shown["judge"].slug
    common = key_of(matrix, [column.key for column in shown["heads"]], tasks, judge, shown["by_system"])

    def write(row: BoardRow) -> str:
        return template.render({**shown, "row": row, "cells": cells(row, shown["tasks"])})

    by_key = {key_of(common, row.stamp or row, row.closed): partial(write, row) for row in rows}
    written = _kept_html(by_key)
    return mark_safe("".join(written[key] for key in by_key))  # noqa: S308 - rendered by templates


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
            "kept": [(name, request.GET.get(name, "")) for name in ("version", "tasks", "rows", "fold")],
            "all_columns": COLUMNS,
            "columns": {column.key for column in columns},
            "headings": headings(request.GET, columns),
            "orders": orders(columns, listing.sort),
            "sort": "" if listing.sort == DEFAULT_SORT else listing.sort,
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
    slug, marked = listing.version.suite.slug, listing.some_hidden
    columns = MATRIX_COLUMNS if by_task else FILE_COLUMNS

    def lines() -> Iterator[list[Any]]:
        for row in listing.file_rows():
            for line in file_rows(row, listing.tasks, site) if by_task else [file_row(row, site)]:
                yield [*line, row.closed] if marked else line

    return table_file(
        request,
        name=f"{slug}-{'matrix' if by_task else 'board'}",
        columns=(*columns, HIDDEN) if marked else columns,
        rows=lines(),
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
