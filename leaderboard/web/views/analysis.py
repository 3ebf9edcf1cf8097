"""Show a suite's analysis: every figure on one page, and each figure's data and chart for download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db.models import Max
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from leaderboard.board.query_strings import query_with, requested_version
from leaderboard.board.visibility import closed, closed_submissions
from leaderboard.insight.analysis.charts import MOST_ROWS
from leaderboard.insight.analysis.data import SuiteResults
from leaderboard.insight.analysis.figures import BY_SLUG, SECTIONS
from leaderboard.models import AnalysisReport
from leaderboard.web.page_cache import kept_by
from leaderboard.web.table_files import table_file
from leaderboard.web.views.board import data_version

if TYPE_CHECKING:
    from django.http import HttpRequest

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.insight.analysis.figure import Cell, Column, Figure
    from leaderboard.insight.analysis.figures import Section

LISTED: Final = 15
"""Rows of a figure's table on the page of all figures."""
LISTED_ALONE: Final = 500
"""Rows of a table on the figure's own page; files contain all rows."""
FORMATS: Final = ("csv", "json", "chart")
DASH: Final = "\N{EN DASH}"
MINUS: Final = "\N{MINUS SIGN}"


def analysis_version(request: HttpRequest, suite: str | None = None) -> str | None:
    """Return the version of the pages' data: the suite's boards and the reports computed by jobs."""
    boards = data_version(request, suite)
    return boards and f"{boards} {AnalysisReport.objects.aggregate(newest=Max('computed'))['newest']}"


@require_safe
@kept_by(analysis_version)
def analysis_default(request: HttpRequest) -> HttpResponse:
    """Show the first suite's analysis."""
    suite = Suite.objects.first()
    return render(request, "leaderboard/no_suites.html") if suite is None else _analysis(request, suite)


@require_safe
@kept_by(analysis_version)
def analysis(request: HttpRequest, suite: str) -> HttpResponse:
    """Show one suite's analysis, or one ``?figure=`` of it; ``?format=`` returns the figure's data or chart."""
    return _analysis(request, get_object_or_404(Suite, slug=suite))


def _analysis(request: HttpRequest, suite: Suite) -> HttpResponse:
    version = requested_version(request, suite)
    if version is None:
        return render(request, "leaderboard/board_empty.html", {"suite": suite})
    slug, form = request.GET.get("figure", ""), request.GET.get("format", "")
    if slug and slug not in BY_SLUG:
        raise Http404(f"There is no figure {slug[:40]!r}. Known: {', '.join(BY_SLUG)}.")
    if form and not (slug and form in FORMATS):
        raise Http404(f"Name a figure, and one of the formats {', '.join(FORMATS)}.")
    if form:
        return _file(request, version, BY_SLUG[slug], form)
    results = SuiteResults(version, most=LISTED_ALONE if slug else MOST_ROWS, hidden=closed_submissions(request))
    shown = [BY_SLUG[slug]] if slug else SECTIONS
    listed = LISTED_ALONE if slug else LISTED
    context = {
        "suite": suite,
        "version": version,
        "asked": slug,
        "closed": closed(request),
        "all_figures": query_with(request.GET, figure=None),
        "sections": [_shown(request, section, section.make(results), listed) for section in shown],
    }
    return render(request, "leaderboard/analysis.html", context)


def _shown(request: HttpRequest, section: Section, figure: Figure, listed: int) -> dict[str, Any]:
    addresses = (figure.addresses or ("",) * len(figure.rows))[:listed]
    return {
        "section": section,
        "figure": figure,
        "files": {form: query_with(request.GET, figure=section.slug, format=form) for form in FORMATS},
        "alone": query_with(request.GET, figure=section.slug),
        "rows": [
            (address, [(_formatted(cell, column), column.digits is not None) for cell, column in _cells(figure, row)])
            for address, row in zip(addresses, figure.rows[:listed], strict=True)
        ],
        "known": figure.known or len(figure.rows),
        # A template would call the chart function, and draw every chart on a page that shows none.
        "drawn": figure.chart is not None,
    }


def _cells(figure: Figure, row: tuple[Cell, ...]) -> list[tuple[Cell, Column]]:
    return list(zip(row, figure.columns, strict=True))


def _formatted(cell: Cell, column: Column) -> str:
    """Format a value for the page: with the column's number of digits, or as a dash if there is none."""
    if cell is None:
        return DASH
    if column.digits is None or not isinstance(cell, int | float):
        return str(cell)
    least = 10**-column.digits
    if column.key in {"p", "clustered_p"} and cell < least:
        return f"< {least:g}"
    return f"{cell:.{column.digits}f}".replace("-", MINUS)


def _file(request: HttpRequest, version: SuiteVersion, section: Section, form: str) -> HttpResponse:
    """Return every row of a figure's data, or the chart as the page draws it."""
    most = MOST_ROWS if form == "chart" else None
    figure = section.make(SuiteResults(version, most=most, hidden=closed_submissions(request)))
    if form == "chart":
        if figure.chart is None:
            raise Http404("This figure has no chart yet.")
        return JsonResponse(figure.chart())
    return table_file(
        request,
        name=f"{version.suite.slug}-v{version.number}-{section.slug}",
        columns=[column.key for column in figure.columns],
        rows=(tuple(map(_rounded, row)) for row in figure.rows),
        suite=version.suite.slug,
        version=version.number,
        figure=section.slug,
        title=section.title,
        of_paper=section.paper,
        notes=[*figure.notes, *figure.differences, *([figure.missing] if figure.missing else [])],
    )


def _rounded(cell: Cell) -> Cell:
    """Round a number to six digits, which hides a float's representation error and nothing else."""
    return round(cell, 6) if isinstance(cell, float) else cell
