"""Read the figures of an analysis page for tests."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from typing import TYPE_CHECKING

from tests.leaderboard.showing import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.test import Client

SMALL = "/analysis/small/"


def table(client: Client, figure: str, address: str = SMALL) -> list[dict[str, str]]:
    """A figure's CSV file."""
    response = client.get(f"{address}figures/{figure}.csv")
    assert response.status_code == 200
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def points(client: Client, figure: str, address: str = SMALL) -> list[str]:
    """The texts of a chart's points, in their order on the figure's page; none without a chart."""
    page = client.get(f"{address}figures/{figure}/").content.decode()
    drawing = page.partition('<figure class="chart wide-chart">')[2].partition("</figure>")[0]
    return [unescape(text) for text in re.findall(r'<g class="mark"><title>(.*?)</title>', drawing)]


def finding(client: Client, figure: str, address: str = SMALL) -> str:
    """The heading of a figure's page."""
    page = client.get(f"{address}figures/{figure}/").content.decode()
    return unescape(page.partition("<h1>")[2].partition("</h1>")[0])


def section(client: Client, figure: str, address: str = SMALL) -> str:
    """Return the text of one figure's page below the site's header."""
    page = words_of(client.get(f"{address}figures/{figure}/"))
    return page.split("Analysis of ", 1)[1]


def values(rows: Sequence[dict[str, str]], *keys: str) -> list[tuple[str, ...]]:
    return [tuple(row[key] for key in keys) for row in rows]
