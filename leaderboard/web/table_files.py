"""Serve a page's table as a file: ``?format=csv`` or ``?format=json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.http import Http404, HttpResponse, JsonResponse

from submissions.csv_cells import as_cell, csv_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.http import HttpRequest

HIDDEN: Final = "hidden_while_you_label"
"""The last column of a table: true if the viewer is labelling an answer of the row."""


def file_requested(request: HttpRequest) -> bool:
    """Return whether the query string requests a file. Raises Http404 for an unknown format."""
    wanted = request.GET.get("format", "")
    if wanted not in {"", "csv", "json"}:
        raise Http404("Tables can be downloaded with format=csv or format=json.")
    return bool(wanted)


def table_file(
    request: HttpRequest,
    *,
    name: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    form: str = "",
    **about: Any,
) -> HttpResponse:
    """Return the table in the requested format; JSON has the facts ``about`` it, and rows as objects.

    ``form`` is the format, if the address has it elsewhere than in the query string.

    A last column :data:`HIDDEN` marks rows hidden because the viewer is labelling one of their answers: an empty cell
    alone can also mean an unknown number. The column is left out if no row is hidden.
    """
    rows = list(rows)
    if columns[-1] == HIDDEN and not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if (form or request.GET.get("format")) == "json":
        return JsonResponse({**about, "rows": [dict(zip(columns, row, strict=True)) for row in rows]})
    lines = [csv_line(columns), *(csv_line(map(as_cell, row)) for row in rows)]
    response = HttpResponse("".join(lines), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
