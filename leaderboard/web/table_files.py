"""Serve a page's table as a file: ``?format=csv`` or ``?format=json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse

from submissions.csv_cells import as_cell, csv_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.http import HttpRequest

HIDDEN: Final = "hidden_while_you_label"
"""The last column of a table with hidden rows: true if the viewer is labelling an answer of the row.

An empty cell alone can also mean an unknown number.
"""


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

    ``form`` is the format, if the address has it elsewhere than in the query string. ``rows`` are made into text
    one by one, so they need not all be in memory.
    """
    if (form or request.GET.get("format")) == "json":
        written = (json.dumps(dict(zip(columns, row, strict=True)), cls=DjangoJSONEncoder).encode() for row in rows)
        before = json.dumps({**about, "rows": []}, cls=DjangoJSONEncoder).removesuffix("]}")
        return HttpResponse(b"%b%b]}" % (before.encode(), b", ".join(written)), content_type="application/json")
    lines = (csv_line(map(as_cell, row)).encode() for row in rows)
    response = HttpResponse(b"".join([csv_line(columns).encode(), *lines]), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
