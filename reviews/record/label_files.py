"""Labels as CSV and JSON Lines: what stands in a row, how it is written, and how it is read and checked.

A spreadsheet runs cells that begin with ``=``, ``+``, ``-`` or ``@`` as formulas. Such cells get an apostrophe before
them in CSV, and so do those that begin with one, so that reading takes exactly one away again.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias
from uuid import UUID

from reviews.record import label_values as values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Format: TypeAlias = Literal["csv", "jsonl"]
REVIEW, DECISION = "review", "decision"
MOST_PROBLEMS: Final = 100
MOST_ROWS: Final = 20_000
_MOST_NAMES: Final = 10
_LONGEST_CELL: Final = 2**24
# The last four are full-width forms of the first, which some spreadsheets take for them.
_RUN_BY_SPREADSHEETS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A locked label (``record`` is ``review``) or a decision, with everything that it refers to.

    ``at`` is when it was locked or made. ``submission`` is the number on the site that wrote the row. What a decision
    does not have (confidence, findings, active seconds) is null or empty, as is a review's ``reason``: reason codes,
    separated by commas.
    """

    record: str
    identifier: UUID
    case: UUID
    kind: str
    round: int
    state: str
    case_label: str
    case_source: str
    case_created: datetime
    case_settled: datetime
    triggers: list[dict[str, Any]]
    suite: str
    suite_version: int
    submission: int
    bundle_digest: str
    task: str
    trial: int
    system: str
    reviewer: UUID
    pseudonym: str
    name: str
    role: str
    label: str
    confidence: int | None
    findings: list[dict[str, Any]]
    note: str
    reason: str
    guideline: int
    active_seconds: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong in which line (1-based; 0 is the file as a whole), and what to do."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows of a file, each with the line where it ends, and what is wrong with it."""

    rows: list[tuple[int, LabelRow]]
    problems: list[Problem]


COLUMNS: Final = tuple(field.name for field in fields(LabelRow))

_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "record": values.one_of((REVIEW, DECISION)),
    "identifier": values.uuid,
    "case": values.uuid,
    "kind": values.one_of(values.KINDS),
    "round": values.whole(1, 1000),
    "state": values.one_of(values.STATES),
    "case_label": values.one_of((*values.LABELS, "")),
    "case_source": values.one_of((*values.SOURCES, "")),
    "case_created": values.moment,
    "case_settled": values.moment,
    "triggers": values.triggers,
    "suite": values.text(50, needed=True),
    "suite_version": values.whole(1, values.LARGEST),
    "submission": values.whole(1, 10**15),
    "bundle_digest": values.text(64, needed=True),
    "task": values.text(200, needed=True),
    "trial": values.whole(1, 1000),
    "system": values.text(120, needed=True),
    "reviewer": values.uuid,
    "pseudonym": values.text(60, needed=True),
    "name": values.text(120),
    "role": values.one_of(values.ROLES),
    "label": values.one_of(values.LABELS),
    "confidence": values.or_none(values.whole(1, 3)),
    "findings": values.findings,
    "note": values.text(100_000),
    "reason": values.reasons,
    "guideline": values.whole(1, values.LARGEST),
    "active_seconds": values.or_none(values.whole(0, values.LARGEST)),
    "at": values.moment,
}
_NESTED: Final = ("triggers", "findings")


def written(rows: Iterable[LabelRow], form: Format) -> Iterator[str]:
    """The file in pieces, a row each; CSV begins with its header."""
    if form == "jsonl":
        for row in rows:
            yield json.dumps(_as_data(row), ensure_ascii=False) + "\n"
        return
    yield _csv_line(COLUMNS)
    for row in rows:
        yield _csv_line(_as_cell(value) for value in _as_data(row).values())


def read(content: bytes) -> Reading:
    """Read a file in either format. Nothing is raised for content of any kind: what is wrong is in ``problems``."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return Reading([], [Problem(line, "is not UTF-8; save the file in that encoding.")])
    if not text.strip():
        return Reading([], [Problem(0, "The file is empty. Export at least one label, or leave it.")])
    members = _json_lines(text) if text.lstrip()[0] in "{[" else _csv_rows(text)
    reading = Reading([], [])
    for line, found in members:
        if len(reading.problems) >= MOST_PROBLEMS:
            reading.problems.append(Problem(0, "There may be more; correct these first."))
            break
        if len(reading.rows) >= MOST_ROWS:
            reading.problems.append(Problem(line, f"is more than the {MOST_ROWS} rows of one file; split it by cases."))
            break
        row = found if isinstance(found, Problem) else _row(line, found, reading.problems)
        if isinstance(row, Problem):
            reading.problems.append(row)
        elif row is not None:
            reading.rows.append((line, row))
    return reading


def _as_data(row: LabelRow) -> dict[str, Any]:
    return {name: _plain(getattr(row, name)) for name in COLUMNS}


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value


def _as_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith((*_RUN_BY_SPREADSHEETS, "'")) else str(value)


def _csv_line(cells: Iterable[str]) -> str:
    target = io.StringIO(newline="")
    csv.writer(target, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow(list(cells))
    return target.getvalue()


def _json_lines(text: str) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            found = json.loads(content, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            yield line, Problem(line, f"is not JSON ({_shortly(error)}); every line is one JSON object.")
            continue
        yield line, found if isinstance(found, dict) else Problem(line, "is JSON, and no object; write one a line.")


def _csv_rows(text: str) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield reader.line_num, Problem(reader.line_num, f"is not CSV ({error}); export again, or repair the line.")
            return
        if cells is None:
            return
        line = reader.line_num
        if header is None:
            header = cells
            if problem := _header_problem(header):
                yield line, Problem(line, problem)
                return
        elif len(cells) != len(header):
            yield line, Problem(line, f"has {len(cells)} cells where the header has {len(header)}.")
        else:
            yield line, {name: _from_cell(name, cell) for name, cell in zip(header, cells, strict=True)}


def _header_problem(header: list[str]) -> str:
    if sorted(header) == sorted(COLUMNS):
        return ""
    missing = [name for name in COLUMNS if name not in header]
    surplus = sorted({name[:40] for name in header if name not in COLUMNS or header.count(name) > 1})[:_MOST_NAMES]
    said = [f"lacks {', '.join(missing)}"] if missing else []
    said += [f"has {', '.join(map(repr, surplus))} in surplus"] if surplus else []
    return f"The header {' and '.join(said)}; keep the columns as they were exported."


def _from_cell(name: str, cell: str) -> Any:
    text = cell.removeprefix("'")
    if name not in _NESTED:
        return text
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        # Not a list, which is what the column's own reader will say.
        return None


def _row(line: int, found: Mapping[str, Any], problems: list[Problem]) -> LabelRow | None:
    """The row, or None with what is wrong added to ``problems``."""
    names = set(found)
    if names != set(COLUMNS):
        # What is no column may hold anything, such as half of a pair, which no page can be written with.
        surplus = sorted(repr(name[:40]) for name in names - set(COLUMNS))[:_MOST_NAMES]
        differing = ", ".join([*(name for name in sorted(COLUMNS) if name not in names), *surplus])
        problems.append(Problem(line, f"has other members than an export: {differing} missing or in surplus."))
        return None
    made, wrong = {}, []
    for name in COLUMNS:
        try:
            made[name] = _READERS[name](found[name])
        except ValueError as error:
            wrong.append(Problem(line, f"{name} {error}."))
    if not wrong:
        row = LabelRow(**made)
        wrong = [Problem(line, message) for message in _contradictions(row)]
        if not wrong:
            return row
    problems.extend(wrong)
    return None


def _contradictions(row: LabelRow) -> Iterator[str]:
    if row.record == REVIEW and (row.confidence is None or row.active_seconds is None or row.reason):
        yield "a review has a confidence and active seconds, and no reason."
    if row.record == DECISION and (row.confidence is not None or row.findings or not row.reason):
        yield "a decision has a reason, and neither confidence nor findings."
    if row.record == DECISION and row.role != "adjudicator":
        yield "a decision is an adjudicator's."


def _refuse_constant(name: str) -> NoReturn:
    msg = f"{name} is no JSON"
    raise ValueError(msg)


def _shortly(error: Exception) -> str:
    return "too deep" if isinstance(error, RecursionError) else str(error)[:80]
