"""Write CSV files (RFC 4180) that no spreadsheet runs as formulas.

A spreadsheet runs cells that begin with ``=``, ``+``, ``-`` or ``@``. Such cells get an apostrophe before them, and so
do those that begin with one, so that a reader takes exactly one away again.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# The last four are full-width forms of the first, which some spreadsheets take for them.
_RUN_BY_SPREADSHEETS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")


def as_cell(value: Any) -> str:
    """Return a value as the text of a cell: empty for None, lists as JSON, and no text that a spreadsheet would run."""
    if value is None:
        return ""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith((*_RUN_BY_SPREADSHEETS, "'")) else str(value)


def csv_line(cells: Iterable[str]) -> str:
    """Return one line of a CSV file, every cell quoted."""
    target = io.StringIO(newline="")
    csv.writer(target, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow(list(cells))
    return target.getvalue()
