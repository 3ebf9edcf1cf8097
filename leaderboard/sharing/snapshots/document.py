"""Convert a board's rows and tasks to JSON and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.core.serializers.json import DjangoJSONEncoder
from pydantic import BaseModel

from leaderboard.board.matrix import MatrixTask
from leaderboard.board.row import BoardRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.models.snapshots import Document


class _Encoder(DjangoJSONEncoder):
    """Encode every field with every digit, including those that the API omits or rounds."""

    def default(self, o: Any) -> Any:
        return dict(o) if isinstance(o, BaseModel) else super().default(o)


def as_json(values: Sequence[BoardRow] | Sequence[MatrixTask]) -> list[dict[str, Any]]:
    """Convert rows or tasks to plain JSON."""
    data: list[dict[str, Any]] = json.loads(json.dumps(values, cls=_Encoder))
    return data


def rows_of(document: Document) -> list[BoardRow]:
    """Read the frozen rows in their order. An older or newer version of the site may have stored them."""
    return [BoardRow.model_validate(data) for data in document["rows"]]


def tasks_of(document: Document) -> list[MatrixTask]:
    """Read the frozen tasks in the matrix's order. Those of older snapshots do not name their suite."""
    suite = document["suite"]["slug"]
    return [MatrixTask.model_validate({"suite": suite, **data}) for data in document["tasks"]]
