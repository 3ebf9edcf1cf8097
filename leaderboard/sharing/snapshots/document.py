"""The rows of a board and its tasks as JSON and back."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.core.serializers.json import DjangoJSONEncoder

from leaderboard.board.matrix import MatrixTask
from leaderboard.board.rows import BoardRow, LabelsCell, TestsCell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.models.snapshots import Document

_Value = TypeVar("_Value", BoardRow, MatrixTask, TestsCell, LabelsCell)


def as_json(values: Sequence[BoardRow] | Sequence[MatrixTask]) -> list[dict[str, Any]]:
    """Rows or tasks as plain JSON."""
    return cast(
        "list[dict[str, Any]]", json.loads(json.dumps([asdict(each) for each in values], cls=DjangoJSONEncoder))
    )


def rows_of(document: Document) -> list[BoardRow]:
    """The frozen rows in their order."""
    return [_row(data) for data in document["rows"]]


def tasks_of(document: Document) -> list[MatrixTask]:
    """The frozen tasks in the matrix's order."""
    return [_made(MatrixTask, data) for data in document["tasks"]]


def _row(data: dict[str, Any]) -> BoardRow:
    date, rank, tests = data["date"], data["rank"], data["tests"]
    labels = {rater: _labels(data[rater]) for rater in ("judge", "human", "final")}
    tuples = {name: tuple(data[name]) for name in ("remarks", "left_out", "flagged", "trial_passes")}
    more = {
        "date": datetime.fromisoformat(date) if date else None,
        "rank": tuple(rank) if rank else None,
        "tests": _made(TestsCell, tests) if tests else None,
    }
    return _made(BoardRow, {**data, **labels, **tuples, **more})


def _labels(data: dict[str, Any] | None) -> LabelsCell | None:
    return _made(LabelsCell, {**data, "sources": tuple(map(tuple, data["sources"]))}) if data else None


def _made(kind: type[_Value], data: dict[str, Any]) -> _Value:
    """What is stored may have been stored by an older or a newer program: unknown fields are left out."""
    known = {each.name for each in fields(kind)}
    return kind(**{name: value for name, value in data.items() if name in known})
