"""Read the figures of an analysis page for tests."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from tests.leaderboard.showing import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.test import Client

SMALL = "/analysis/small/"


def table(client: Client, figure: str, address: str = SMALL) -> list[dict[str, str]]:
    """A figure's CSV file."""
    response = client.get(address, {"figure": figure, "format": "csv"})
    assert response.status_code == 200
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def chart(client: Client, figure: str, address: str = SMALL) -> Any:
    response = client.get(address, {"figure": figure, "format": "chart"})
    assert response.status_code == 200
    return response.json()


def section(client: Client, figure: str, address: str = SMALL) -> str:
    """Return the text of one figure's section."""
    page = words_of(client.get(address, {"figure": figure}))
    return page.split("All figures", 1)[1]


def values(rows: Sequence[dict[str, str]], *keys: str) -> list[tuple[str, ...]]:
    return [tuple(row[key] for key in keys) for row in rows]
