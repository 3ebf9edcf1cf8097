"""Write a snapshot's data as a zip file whose bytes depend only on the data."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from benchmark_tasks.domain.zips import zipped
from leaderboard.board.columns import FILE_COLUMNS, FILE_FIELDS, file_row
from leaderboard.board.matrix import FILE_COLUMNS as MATRIX_COLUMNS
from leaderboard.board.matrix import FILE_MEANINGS as MATRIX_MEANINGS
from leaderboard.board.matrix import file_rows
from leaderboard.sharing.snapshots.document import rows_of, tasks_of
from submissions.csv_cells import as_cell, csv_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from leaderboard.models import Snapshot
    from leaderboard.models.snapshots import FrozenAgreement

_STATISTICS: Final = ("agreement", "conflict_share", "kappa", "quadratic_kappa", "alpha", "ac1", "ac2")
_AGREEMENT_MEANINGS: Final = {
    "first": ("text", "A rater: annotators, or a judge by its name."),
    "second": ("text", "The other rater."),
    "answers": ("integer", "Number of answers that both labelled."),
    "papers": ("integer", "Number of papers of these answers."),
    "statistic": ("text", f"The statistic: {', '.join(_STATISTICS)}; docs/agreement of the site explains each."),
    "value": ("number", "Its value; empty if there is none."),
    "low": ("number", "Lower bound of its 95 % interval."),
    "high": ("number", "Upper bound of its 95 % interval."),
    "why": ("text", "Why there is no value, or no interval."),
}
_GONE: Final = """
Since the board was frozen, submissions were withdrawn or hidden. These files lack {} of its rows, and the rater
agreement, which counted them.
"""


def archive_of(snapshot: Snapshot, *, without: Collection[str] = ()) -> bytes:
    """Write the archive ``without`` the rows of these keys; if there are any, also without the agreement.

    The agreement counts these rows.
    """
    document = snapshot.document
    frozen = rows_of(document)
    rows = [row for row in frozen if row.key not in without]
    tasks = tasks_of(document)
    agreement = [] if without else document["agreement"]
    about = {
        "suite": _sorted(document["suite"]),
        "snapshot": snapshot.number,
        "title": snapshot.title,
        "note": snapshot.note,
        "frozen": document["frozen"],
        "counting": document["counting"],
        "judge": _sorted(document["judge"]),
        "guidelines": _sorted(document["guidelines"]),
        "flagged_tasks": document["flagged"],
    }
    left_out = {each["task"]: each["why"] for row in rows for each in row.not_counted}
    tables: dict[str, tuple[Sequence[str], list[list[Any]]]] = {
        "board": (
            ("row", "calibration", *FILE_COLUMNS),
            [[row.key, row.calibration, *file_row(row, "")] for row in rows],
        ),
        "matrix": (("row", *MATRIX_COLUMNS), [[row.key, *line] for row in rows for line in file_rows(row, tasks, "")]),
        "agreement": (tuple(_AGREEMENT_MEANINGS), list(_agreement_lines(agreement))),
    }
    files: dict[str, bytes] = {}
    for name, (columns, lines) in tables.items():
        files[f"{name}.csv"] = "".join(map(csv_line, (columns, *(map(as_cell, line) for line in lines)))).encode()
        files[f"{name}.json"] = _json({**about, "rows": [dict(zip(columns, line, strict=True)) for line in lines]})
    gone = _GONE.format(len(frozen) - len(rows)) if without else ""
    files["README.md"] = _readme(snapshot, left_out, gone).encode()
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    files["manifest.json"] = _json(
        {**about, "left_out": left_out, "rows_withdrawn": len(frozen) - len(rows), "sha256": digests}
    )
    folder = f"{document['suite']['slug']}-snapshot-{snapshot.number}"
    return zipped({f"{folder}/{name}": content for name, content in files.items()})


def _sorted(facts: Mapping[str, object] | None) -> dict[str, object] | None:
    """Sort the keys of an object, since PostgreSQL does not keep their order."""
    return None if facts is None else dict(sorted(facts.items()))


def _json(data: object) -> bytes:
    return json.dumps(data, indent=1, ensure_ascii=False).encode() + b"\n"


def _agreement_lines(pairs: Iterable[FrozenAgreement]) -> Iterable[list[Any]]:
    for pair in pairs:
        data = pair["data"]
        for name in _STATISTICS:
            found = data[name]
            low, high = (found["interval"] or {}).get("low"), (found["interval"] or {}).get("high")
            raters = (data["first"]["name"], data["second"]["name"], data["n"], data["clusters"])
            yield [*raters, name, found["value"], low, high, found["why"]]


def _readme(snapshot: Snapshot, left_out: Mapping[str, str], gone: str) -> str:
    document, suite = snapshot.document, snapshot.document["suite"]
    judge, guidelines = document["judge"], document["guidelines"]
    row = ("row", ("text", "The row's name in addresses: s and the submission's number, or r- and a reported run."))
    sample = ("calibration", ("true or false", "Whether it is a sample that checks the evaluation and is not ranked."))
    return f"""# {suite["title"]}, snapshot {snapshot.number}: {snapshot.title}

{snapshot.note}
{gone}
- Frozen: {document["frozen"]}
- Suite: {suite["slug"]}, version {suite["version"]}, seed epoch {suite["seed_epoch"]}, digest {suite["digest"]}
- Judge: {f"{judge['name']} ({judge['model']}), digest {judge['digest']}" if judge else "none of this site"}
- Annotators' guidelines: {f"revision {guidelines['number']}, digest {guidelines['digest']}" if guidelines else "none"}
- Counting rules: {document["counting"]}

Addresses begin at the site that published this. `manifest.json` has the SHA-256 of each file. Text cells of the CSV
files that a spreadsheet would run as a formula begin with an apostrophe; the JSON files have them as they are.

## board.csv, board.json

One line for each row of the board.

{_dictionary((row, sample, *((field.name, (field.type, field.meaning)) for field in FILE_FIELDS)))}
## matrix.csv, matrix.json

One line for each row and task; none for rows with published totals only.

{_dictionary((row, *MATRIX_MEANINGS.items()))}
## agreement.csv, agreement.json

The agreement of every two raters on the published ranked answers of the suite, all its versions together.

{_dictionary(_AGREEMENT_MEANINGS.items())}
## Tasks that are not counted

{"".join(f"- {task}: {why}{chr(10)}" for task, why in left_out.items()) or f"None.{chr(10)}"}
## Licence

The files hold published measurements and no code. You may use them for any purpose; cite this snapshot. The tasks
themselves are under the licence of their suite ({suite["licence"] or "see the suite's page"}), and each answer's code
is under the licence that its page names.
"""


def _dictionary(columns: Iterable[tuple[str, tuple[str, str]]]) -> str:
    lines = (f"| {name} | {kind} | {meaning} |\n" for name, (kind, meaning) in columns)
    return f"| Column | Type | Meaning |\n|---|---|---|\n{''.join(lines)}"
