"""Boards of few and many tasks in a real browser: no column is outside the window, no page scrolls sideways."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.facts.categories import CATEGORIES
from leaderboard.board.states import note_change
from tests.benchmark_tasks.factories import (
    CategoryFactory,
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.leaderboard.factories import label_counts, measured, reported
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from pytest_django.live_server_helper import LiveServer

    from benchmark_tasks.models import SuiteVersion

pytestmark = [pytest.mark.e2e, pytest.mark.django_db]
LABELS = ("CC", "LC", "LI")


def board_of(tasks: int, *, rich: bool = False) -> SuiteVersion:
    """A board with a reported and a measured row; ``rich``: with values in every usual column."""
    version: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug=f"of-{tasks}{'-rich' * rich}"))
    categories = [CategoryFactory(slug=each.slug) for each in CATEGORIES]
    for number in range(tasks):
        paper = PaperFactory(suite=version.suite, slug=f"paper-{number}", folder_name=f"paper-{number}")
        task = TaskFactory(suite=version.suite, paper=paper, index=1, slug=f"paper-{number}/1")
        version.revisions.add(TaskRevisionFactory(task=task, category=categories[number * 9 // tasks]))
    # The widest possible numbers.
    counts = label_counts(tasks, 0, 0, tasks=tasks) | {"percent": dict.fromkeys(LABELS, 100.0)}
    labels = {"judge": counts, "human": counts, **({"final": counts | {"sources": {"decision": 3}}} if rich else {})}
    metric = {"tasks": tasks, "labels": labels, "tests_passed": float(tasks), "rank_from": 10, "rank_to": 12}
    name = "Otter Coder 2 (open weights) with Scaffold"
    rows = [
        reported(version, system=SystemFactory(name=f"{name} A"), metric=metric),
        measured(version, system=SystemFactory(name=f"{name} B"), metric=metric, trials=3 if rich else 1),
    ]
    for row in rows:
        row.marks = {
            "tests": [float(number % 2) for number in range(tasks)],
            "judge": [LABELS[number % 3] for number in range(tasks)],
            "human": [LABELS[(number + 1) % 3] for number in range(tasks)],
        }
        row.date = datetime(2026, 11, 25, tzinfo=UTC)
        row.cost = 123.45 if rich else None
        row.save()
    note_change(version.pk)
    return version


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without the instance's address: these boards are on the test's own server."""
    made = browser.new_page()
    yield made
    made.close()


def overflow(page: Page) -> tuple[int, int]:
    """By how many pixels the page is wider than the window, and the board than its box."""
    widths: list[int] = page.evaluate(
        """() => [document.documentElement, document.querySelector("#board .scroll")]
            .map((each) => Math.max(0, each.scrollWidth - each.offsetWidth))"""
    )
    return widths[0], widths[1]


@pytest.mark.parametrize("tasks", [*(pytest.param(each, marks=pytest.mark.in_full) for each in (9, 35)), 28, 60])
def test_a_board_of_any_number_of_tasks_fits_a_laptop(live_server: LiveServer, page: Page, tasks: int) -> None:
    version = board_of(tasks)
    for width in (1440, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{live_server.url}/board/{version.suite.slug}/")
        assert overflow(page) == (0, 0)
        cells = page.locator("table.board tr").nth(1).locator("th, td")
        boxes = [cell.bounding_box() for cell in cells.all()]
        assert [box for box in boxes if box is None or box["x"] < 0 or box["x"] + box["width"] > width] == []
        # A row's marks are on one line, and each is wide enough to be seen.
        marks = [mark.bounding_box() for mark in page.locator("table.board tr").nth(1).locator("a.m").all()]
        assert len(marks) == tasks
        assert len({box["y"] for box in marks if box}) == 1
        assert min(box["width"] for box in marks if box) >= (10 if tasks == 9 else 3)
        assert max(box["width"] for box in marks if box) <= 10


def test_all_columns_together_fit_a_laptop(live_server: LiveServer, page: Page) -> None:
    version = board_of(35, rich=True)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{live_server.url}/board/{version.suite.slug}/")
    assert page.locator("table.board thead th").count() == 12
    assert overflow(page) == (0, 0)


def test_a_wider_table_scrolls_in_its_own_box_with_a_shade_at_its_edge(live_server: LiveServer, page: Page) -> None:
    version = board_of(60, rich=True)
    page.set_viewport_size({"width": 1280, "height": 900})
    for address in ("", "matrix/"):
        page.goto(f"{live_server.url}/board/{version.suite.slug}/{address}")
        beyond_window, beyond_box = overflow(page)
        assert (beyond_window, beyond_box > 0) == (0, True)
        box = page.locator("#board .scroll")
        assert box.evaluate("box => getComputedStyle(box).backgroundAttachment") == "local, local, scroll, scroll"
        # Cells are transparent, so that the shade is visible.
        last = page.locator("#board .scroll tbody td").last
        assert last.evaluate("cell => getComputedStyle(cell).backgroundColor") == "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("tasks", [pytest.param(9, marks=pytest.mark.in_full), 35, 60])
def test_phones_show_cards_with_every_mark(live_server: LiveServer, page: Page, tasks: int) -> None:
    version = board_of(tasks, rich=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server.url}/board/{version.suite.slug}/")
    assert overflow(page) == (0, 0)
    marks = [mark.bounding_box() for mark in page.locator("table.board tr").nth(1).locator("a.m").all()]
    assert len(marks) == tasks
    assert [box for box in marks if box is None or box["x"] < 0 or box["x"] + box["width"] > 390] == []
