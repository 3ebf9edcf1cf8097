"""A page's table as a file: ``?format=csv`` or ``?format=json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.http import Http404, HttpResponse, JsonResponse

from submissions.csv_cells import as_cell, csv_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.http import HttpRequest

HIDDEN: Final = "hidden_while_you_label"
"""The last column of a file of rows; true where the viewer labels an answer of the row."""


def file_asked(request: HttpRequest) -> bool:
    """Whether the address asks for a file. Raises Http404 for a format that there is not."""
    asked = request.GET.get("format", "")
    if asked not in {"", "csv", "json"}:
        raise Http404("A table is there as format=csv or format=json.")
    return bool(asked)


def table_file(
    request: HttpRequest,
    *,
    name: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    **about: Any,
) -> HttpResponse:
    """Return the table in the format asked for; in JSON with what it is ``about``, and a row as an object.

    A last column :data:`HIDDEN` says whether the viewer labels an answer of the row: an empty cell alone can also mean
    that a number is not known. It is left out where no row is hidden.
    """
    rows = list(rows)
    if columns[-1] == HIDDEN and not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if request.GET.get("format") == "json":
        return JsonResponse({**about, "rows": [dict(zip(columns, row, strict=True)) for row in rows]})
    lines = [csv_line(columns), *(csv_line(map(as_cell, row)) for row in rows)]
    response = HttpResponse("".join(lines), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
