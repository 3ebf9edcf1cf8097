"""The published results in the database: the table of DESIGN, section 6, as the board reads it."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Suite
from leaderboard.board.board import BoardRow
from leaderboard.models import EntryMetric
from leaderboard.published.reported import load_published
from tests.leaderboard.showing import rows_of

pytestmark = pytest.mark.django_db

EXPECTED = {
    ("none", "GPT-4o", "full"): (39.3, (17.9, 10.7, 71.4), (25.0, 14.3, 60.7)),
    ("none", "GPT-4.1", "full"): (42.9, (7.1, 28.6, 64.3), (35.7, 32.1, 32.1)),
    ("none", "o4-mini", "full"): (42.9, (25.0, 21.4, 53.6), (32.1, 28.6, 39.3)),
    ("OpenHands", "GPT-4o", "full"): (25.0, (3.6, 10.7, 85.7), (21.4, 17.9, 60.7)),
    ("OpenHands", "GPT-4.1", "full"): (35.7, (17.9, 14.3, 67.9), (32.1, 25.0, 42.9)),
    ("OpenHands", "o4-mini", "full"): (35.7, (35.7, 14.3, 50.0), (39.3, 21.4, 39.3)),
    ("OpenHands", "Claude 3.7", "full"): (50.0, None, None),
    ("OpenHands", "GPT-4o", "paper_only"): (21.4, (10.7, 7.1, 82.1), None),
    ("OpenHands", "GPT-4.1", "paper_only"): (32.1, (28.6, 14.3, 57.1), None),
    ("OpenHands", "o4-mini", "paper_only"): (39.3, (46.4, 3.6, 50.0), None),
    ("OpenHands", "GPT-4o", "paper_goal_file"): (25.0, (3.6, 7.1, 89.3), None),
    ("OpenHands", "GPT-4.1", "paper_goal_file"): (28.6, (7.1, 14.3, 78.6), None),
    ("OpenHands", "o4-mini", "paper_goal_file"): (39.3, (42.9, 17.9, 39.3), None),
}


@pytest.fixture
def rows() -> list[BoardRow]:
    call_command("load_catalogue", stdout=io.StringIO())
    assert load_published() == 13
    version = current_version(Suite.objects.get(slug="lmr-bench"))
    assert version is not None
    return rows_of(version)


def shown(row: BoardRow) -> tuple[object, ...]:
    def labels(cell: object) -> tuple[float, ...] | None:
        return None if cell is None else tuple(round(getattr(cell, name), 1) for name in ("cc", "lc", "li"))

    assert row.tests is not None
    return (round(row.tests.percent, 1), labels(row.judge), labels(row.human))


def test_every_published_number_is_on_the_board(rows: list[BoardRow]) -> None:
    assert {(row.scaffold or "none", row.backbone, row.inputs): shown(row) for row in rows} == EXPECTED
    assert all(row.reported and not row.calibration for row in rows)


def test_differences_between_files_and_paper_are_remarked(rows: list[BoardRow]) -> None:
    remarked = {
        (row.scaffold or "none", row.backbone)
        for row in rows
        if row.inputs == "full" and any("paper prints" in remark for remark in row.remarks)
    }
    assert remarked == {("none", "GPT-4.1"), ("none", "o4-mini"), ("OpenHands", "GPT-4o"), ("OpenHands", "GPT-4.1")}


def test_categories_are_counted_where_results_per_task_are_known(rows: list[BoardRow]) -> None:
    known = EntryMetric.objects.filter(entry__reported_run__slug="openhands-gpt-4.1", category__isnull=False)
    assert (known.count(), sum(metric.tasks for metric in known)) == (9, 28)
    assert sum(metric.tests_passed or 0 for metric in known) == 10
    totals_only = EntryMetric.objects.filter(entry__reported_run__slug="no-agent-gpt-4o", category__isnull=False)
    assert {metric.tests_rate for metric in totals_only} == {None}


def test_without_the_catalogue_the_command_says_what_to_do() -> None:
    with pytest.raises(CommandError, match=r"Run manage\.py load_catalogue first"):
        call_command("load_published")
