"""Write CSV files (RFC 4180) whose cells spreadsheets do not run as formulas.

Spreadsheets run cells that begin with ``=``, ``+``, ``-`` or ``@``. Such cells get a leading apostrophe, as do cells
that already begin with one, so a reader can always remove exactly one.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# The last four are full-width forms of the first four, which some spreadsheets treat alike.
_RUN_BY_SPREADSHEETS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")


def as_cell(value: Any) -> str:
    """Return ``value`` as a cell's text: empty for None, JSON for lists, escaped where a spreadsheet would run it."""
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
