"""Show a suite's analysis: every figure on one page, and each figure with its files and its embedded form."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from csp.decorators import csp_replace
from django.conf import settings
from django.db.models import Max
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from leaderboard.board.query_strings import requested_version
from leaderboard.board.visibility import closed, closed_submissions
from leaderboard.insight.analysis.charts import MOST_ROWS
from leaderboard.insight.analysis.data import SuiteResults
from leaderboard.insight.analysis.drawing import COLUMN, PHONE, WIDE, Drawing, drawing, standalone
from leaderboard.insight.analysis.figures import BY_SLUG, SECTIONS
from leaderboard.insight.published_answers import published_answers
from leaderboard.models import AnalysisReport
from leaderboard.sharing.pictures.drawing import png
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
FORMATS: Final = ("csv", "json", "svg", "png")
DASH: Final = "\N{EN DASH}"
MINUS: Final = "\N{MINUS SIGN}"
_TALL: Final = 480
"""Height of a drawing that takes the room of two figures beside it."""
_SHARPNESS: Final = 2
"""Pixels of a PNG for each unit of the drawing."""
_HEADING: Final = 130
"""Room for heading and source above and below an embedded chart."""


def analysis_version(request: HttpRequest, suite: str | None = None, **_names: str) -> str | None:
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
    """Show one suite's analysis. Former addresses of figures (``?figure=&format=``) redirect to the present ones."""
    name, form = request.GET.get("figure"), request.GET.get("format")
    if name is None:
        return _analysis(request, get_object_or_404(Suite, slug=suite))
    _section(name)
    known = form if form in FORMATS else ""
    address = reverse("figure_file", args=[suite, name, known]) if known else reverse("figure", args=[suite, name])
    return redirect(address + _query(request), permanent=True)


def _analysis(request: HttpRequest, suite: Suite) -> HttpResponse:
    version = requested_version(request, suite)
    if version is None:
        return render(request, "leaderboard/board_empty.html", {"suite": suite})
    results = SuiteResults(version, most=MOST_ROWS, hidden=closed_submissions(request))
    figures: list[dict[str, Any]] = []
    absent: dict[str, list[tuple[Section, str]]] = defaultdict(list)
    for section in SECTIONS:
        made = section.make(results)
        if made.chart is None:
            alone = reverse("figure", args=[suite.slug, section.slug]) + _query(request) if made.rows else ""
            absent[made.missing].append((section, alone))
            continue
        drawn = _drawn(section, made)
        shown = _shown(request, suite, section, made, listed=LISTED)
        figures.append({**shown, "drawn": drawn.svg, "tall": drawn.height > _TALL})
    context = {
        "suite": suite,
        "version": version,
        "closed": closed(request),
        "figures": figures,
        "absent": absent.items(),
        "query": _query(request),
        "published": published_answers(suite.slug).verdicts,
    }
    return render(request, "leaderboard/analysis.html", context)


@require_safe
@kept_by(analysis_version, parameters=["version"])
def figure(request: HttpRequest, suite: str, figure: str) -> HttpResponse:
    """Show one figure with its table, and what is needed to cite, download or embed it."""
    shown, version, results = _read(request, suite, figure, most=LISTED_ALONE)
    section = _section(figure)
    made = section.make(results)
    query = _query(request)
    each = _shown(request, shown, section, made, listed=LISTED_ALONE)
    wide, narrow = (_drawn(section, made, width) for width in (WIDE, PHONE))
    embed = request.build_absolute_uri(reverse("figure_embed", args=[suite, figure]) + query)
    frame = round(max(wide.height, narrow.height)) + _HEADING
    context = {
        "suite": shown,
        "version": version,
        "closed": closed(request),
        "all_figures": reverse("analysis", args=[suite]) + query,
        "address": request.build_absolute_uri(reverse("figure", args=[suite, figure]) + query),
        "picture_address": request.build_absolute_uri(each["files"]["png"]),
        "embed_line": format_html(_EMBED, embed, _title(section, made), frame),
        "versioned": bool(query),
        "wide": wide.svg,
        "narrow": narrow.svg,
        "shown": each,
        **each,
    }
    return render(request, "leaderboard/analysis_figure.html", context)


_EMBED: Final = '<iframe src="{}" title="{}" width="100%" height="{}" loading="lazy" frameborder="0"></iframe>'


# Only this page may be framed by other sites: it has no forms, and looks the same to every visitor without a session.
@xframe_options_exempt
@csp_replace({"frame-ancestors": ["*"]})
@require_safe
@kept_by(analysis_version, parameters=["version"])
def embedded(request: HttpRequest, suite: str, figure: str) -> HttpResponse:
    """Show a figure's chart alone, for a frame on another site."""
    shown, version, results = _read(request, suite, figure, most=MOST_ROWS)
    section = _section(figure)
    made = section.make(results)
    context = {
        "suite": shown,
        "version": version,
        "address": request.build_absolute_uri(reverse("figure", args=[suite, figure]) + _query(request)),
        "title": _title(section, made),
        "section": section,
        "figure": made,
        "wide": _drawn(section, made, WIDE).svg,
        "narrow": _drawn(section, made, PHONE).svg,
    }
    return render(request, "leaderboard/analysis_embedded.html", context)


@require_safe
@kept_by(analysis_version, parameters=["version"])
def figure_file(request: HttpRequest, suite: str, figure: str, form: str) -> HttpResponse:
    """Return every row of a figure's data (csv, json), or its chart as a drawing (svg, png)."""
    section = _section(figure)
    if form not in FORMATS:
        raise Http404(f"There is no format {form[:40]!r}. Known: {', '.join(FORMATS)}.")
    picture = form in {"svg", "png"}
    shown, version, results = _read(request, suite, figure, most=MOST_ROWS if picture else None)
    made = section.make(results)
    if not picture:
        return _data(request, version, section, made, form)
    if made.chart is None:
        raise Http404(f"There is no figure yet: {made.missing}.")
    address = request.build_absolute_uri(reverse("figure", args=[suite, figure]))
    drawn = standalone(
        made.chart,
        title=_title(section, made),
        subtitle=f"{section.method} {shown.title}, version {version.number}.",
        source=f"{settings.SITE_NAME} · {address}",
    )
    return (
        HttpResponse(drawn, content_type="image/svg+xml")
        if form == "svg"
        else HttpResponse(png(drawn, scale=_SHARPNESS), content_type="image/png")
    )


def _section(name: str) -> Section:
    if name not in BY_SLUG:
        raise Http404(f"There is no figure {name[:40]!r}. Known: {', '.join(BY_SLUG)}.")
    return BY_SLUG[name]


def _read(
    request: HttpRequest, suite: str, figure: str, *, most: int | None
) -> tuple[Suite, SuiteVersion, SuiteResults]:
    """Return the suite, the requested version and its results. Raises Http404 for an unknown one or figure."""
    _section(figure)
    shown = get_object_or_404(Suite, slug=suite)
    version = requested_version(request, shown)
    if version is None:
        raise Http404("This suite has no version yet.")
    return shown, version, SuiteResults(version, most=most, hidden=closed_submissions(request))


def _title(section: Section, figure: Figure) -> str:
    return figure.finding or section.title


def _drawn(section: Section, figure: Figure, width: int = COLUMN) -> Drawing:
    if figure.chart is None:
        return Drawing("", 0)
    drawn = drawing(figure.chart, label=f"Chart: {_title(section, figure)}", width=width)
    return drawn._replace(svg=mark_safe(drawn.svg))  # noqa: S308 - every text in it is escaped


def _query(request: HttpRequest) -> str:
    """Return the part of the query string that selects the version."""
    version = request.GET.get("version", "")
    return f"?{urlencode({'version': version})}" if version else ""


def _shown(request: HttpRequest, suite: Suite, section: Section, figure: Figure, *, listed: int) -> dict[str, Any]:
    addresses = (figure.addresses or ("",) * len(figure.rows))[:listed]
    query = _query(request)
    return {
        "section": section,
        "figure": figure,
        "title": _title(section, figure),
        "files": {form: reverse("figure_file", args=[suite.slug, section.slug, form]) + query for form in FORMATS},
        "alone": reverse("figure", args=[suite.slug, section.slug]) + query,
        "rows": [
            (address, [(_formatted(cell, column), column.digits is not None) for cell, column in _cells(figure, row)])
            for address, row in zip(addresses, figure.rows[:listed], strict=True)
        ],
        "known": figure.known or len(figure.rows),
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
    digits = 0 if isinstance(cell, int) or (column.key == "passed" and cell == int(cell)) else column.digits
    return f"{cell:.{digits}f}".replace("-", MINUS)


def _data(request: HttpRequest, version: SuiteVersion, section: Section, figure: Figure, form: str) -> HttpResponse:
    """Return every row of a figure's data."""
    return table_file(
        request,
        name=f"{version.suite.slug}-v{version.number}-{section.slug}",
        columns=[column.key for column in figure.columns],
        rows=(tuple(map(_rounded, row)) for row in figure.rows),
        form=form,
        suite=version.suite.slug,
        version=version.number,
        figure=section.slug,
        title=section.title,
        finding=figure.finding,
        of_paper=section.paper,
        notes=[*figure.notes, *figure.differences, *([figure.missing] if figure.missing else [])],
    )


def _rounded(cell: Cell) -> Cell:
    """Round a number to six digits, which hides a float's representation error and nothing else."""
    return round(cell, 6) if isinstance(cell, float) else cell
