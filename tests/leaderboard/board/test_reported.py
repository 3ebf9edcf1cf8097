"""The published results in the database: the table of docs/design/published-numbers.md, as the board reads it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.domain.queries import current_version, revisions_of
from benchmark_tasks.models import Suite, SuiteVersion
from benchmark_tasks.signals import suite_imported
from leaderboard.board.entries import recompute_submission
from leaderboard.board.later_papers import month_choices
from leaderboard.board.matrix import cells, file_rows, tasks_of
from leaderboard.board.ranks import rank_version
from leaderboard.board.reported import load_published
from leaderboard.board.row import BoardRow
from leaderboard.board.states import note_change
from leaderboard.models import Entry, EntryMetric
from submissions.enums import Visibility
from tests.benchmark_tasks.factories import PaperFactory, SuiteVersionFactory, TaskFactory, TaskRevisionFactory
from tests.leaderboard.factories import reported
from tests.leaderboard.showing import counted, rows_of, words_of

if TYPE_CHECKING:
    from django.test import Client

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
    assert load_published() == 16
    version = current_version(Suite.objects.get(slug="lmr-bench"))
    assert version is not None
    return [row for row in rows_of(version) if not row.remeasures]


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


def test_without_the_catalogue_the_command_names_the_remedy() -> None:
    with pytest.raises(CommandError, match=r"Run manage\.py load_catalogue first"):
        call_command("load_published")


ADDED = ("extra/1", "extra/2")


def import_larger() -> SuiteVersion:
    """A second version of the suite, as an operator's import makes it: two more tasks, new revisions of the first."""
    suite = Suite.objects.get(slug="lmr-bench")
    first = current_version(suite)
    assert first is not None
    version: SuiteVersion = SuiteVersionFactory(suite=suite, number=first.number + 1)
    for old in revisions_of(first):
        version.revisions.add(TaskRevisionFactory(task=old.task, number=2, category=old.category))
    paper = PaperFactory(suite=suite, slug="extra", folder_name="12-extra", address="https://arxiv.org/abs/3105.00001")
    for index in (1, 2):
        task = TaskFactory(suite=suite, paper=paper, index=index, slug=f"extra/{index}")
        version.revisions.add(TaskRevisionFactory(task=task, category=revisions_of(first)[0].category))
    suite_imported.send(sender=SuiteVersion, suite_version=version, actor=None)
    return version


def test_rows_follow_an_import_of_more_tasks_with_their_published_numbers(rows: list[BoardRow]) -> None:
    first = current_version(Suite.objects.get(slug="lmr-bench"))
    version = import_larger()
    assert first is not None
    assert rows_of(first) == []
    moved = [row for row in rows_of(version) if not row.remeasures]
    assert {(row.scaffold or "none", row.backbone, row.inputs): shown(row) for row in moved} == EXPECTED
    assert [(row.tests, row.judge, row.human) for row in moved] == [(row.tests, row.judge, row.human) for row in rows]
    assert {row.tests.tasks for row in moved if row.tests} == {28}
    left_out = tuple({"task": slug, "why": "not in the publication"} for slug in ADDED)
    assert all(row.left_out == left_out for row in moved)
    known = EntryMetric.objects.filter(entry__reported_run__slug="openhands-gpt-4.1", category__isnull=False)
    assert (known.count(), sum(metric.tasks for metric in known)) == (9, 28)
    assert sum(metric.tests_passed or 0 for metric in known) == 10
    assert load_published() == 16
    assert Entry.objects.filter(suite_version=version).count() == 16


def test_rows_stay_where_a_new_version_lacks_one_of_their_tasks(rows: list[BoardRow]) -> None:
    first = current_version(Suite.objects.get(slug="lmr-bench"))
    assert first is not None
    version: SuiteVersion = SuiteVersionFactory(suite=first.suite, number=first.number + 1)
    version.revisions.set(list(revisions_of(first))[1:])
    suite_imported.send(sender=SuiteVersion, suite_version=version, actor=None)
    assert rows_of(version) == []
    assert [row for row in rows_of(first) if not row.remeasures] == rows


def test_another_suite_with_reported_rows_is_left_alone() -> None:
    entry = reported()
    newer = SuiteVersionFactory(suite=entry.suite_version.suite, number=2)
    suite_imported.send(sender=SuiteVersion, suite_version=newer, actor=None)
    assert Entry.objects.get().suite_version == entry.suite_version


def test_an_added_task_is_no_failure_of_reported_rows(rows: list[BoardRow]) -> None:
    version = import_larger()
    row = next(each for each in rows_of(version) if each.key == "r-openhands-gpt-4.1")
    tasks = [task for task in tasks_of(version) if task.slug in ADDED]
    assert [cell for task, cell in cells(row, tasks_of(version)) if task.slug in ADDED] == [
        f'<a class="m hollow" href="/board/lmr-bench/answers/r-openhands-gpt-4.1/{task.slug}/" tabindex="-1" '
        f'aria-label="{task.slug}: the authors published no result"></a>'
        for task in tasks
    ]
    assert [(line[4:7], line[7]) for line in file_rows(row, tasks, "https://site")] == [
        ([None, "", ""], f"https://site{task.address}") for task in tasks
    ]


def test_ranks_among_reported_rows_stay_and_a_measured_row_is_compared_on_shared_tasks(
    rows: list[BoardRow],
) -> None:
    def bands(version: SuiteVersion) -> dict[str, tuple[int, int] | None]:
        note_change(version.pk, results=True)
        rank_version(version.pk)
        return {row.key: row.rank for row in rows_of(version)}

    first = current_version(Suite.objects.get(slug="lmr-bench"))
    assert first is not None
    before = bands(first)
    version = import_larger()
    assert bands(version) == before
    submission = counted(version, visibility=Visibility.PUBLISHED)
    recompute_submission(submission.pk)
    after = bands(version)
    # It passes all shared tasks, so it is above each reported row that has results by task.
    assert after.pop(f"s{submission.pk}") == (1, 1)
    assert after == {key: band and (band[0] + 1, band[1] + 1) for key, band in before.items()}


def test_papers_after_a_month_count_only_reported_tasks(client: Client, rows: list[BoardRow]) -> None:
    def numbers(month: str) -> list[dict[str, object]]:
        address = f"/board/lmr-bench/?format=json&sort=system&papers={month}"
        found: list[dict[str, object]] = client.get(address).json()["rows"]
        return found

    first = current_version(Suite.objects.get(slug="lmr-bench"))
    assert first is not None
    months = [month for month, _ in month_choices(tasks_of(first))]
    before = [numbers(month) for month in months]
    assert {row["tasks"] for row in before[0] if row["tasks"]} == {27}
    version = import_larger()
    assert [numbers(month) for month in months] == before
    last = month_choices(tasks_of(version))[-1][0]
    assert last not in months
    assert {(row["tests_passed"], row["tasks"], row["judge_li_percent"]) for row in numbers(last)} == {(None,) * 3}


def test_an_old_versions_board_links_to_the_rows_and_to_the_suites_own_kit(
    client: Client, rows: list[BoardRow]
) -> None:
    import_larger()
    page = words_of(client.get("/board/lmr-bench/?version=1"))
    assert "Version 1 of this suite has no rows yet. version 2 has some." in page
    assert "Submit answers" in page
