"""Counts of labels in blocks of submissions: kept while no row of a block changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.board import blocks
from leaderboard.board.entries import refresh_visibility
from leaderboard.board.labels import recount_labels
from leaderboard.models import Entry
from submissions.enums import Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.leaderboard.factories import measured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two submissions a block, each worth keeping."""
    monkeypatch.setattr(blocks, "BLOCK", 2)
    monkeypatch.setattr(blocks, "LEAST_KEPT", 1)
    yield
    blocks._COUNTED.clear()


class Counting:
    """Returns the submissions of each block, and remembers which blocks it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []

    def __call__(self, entries: QuerySet[Entry]) -> tuple[tuple[Any, ...], ...]:
        found = tuple(entries.order_by("submission").values_list("submission"))
        self.asked.append(tuple(pk for (pk,) in found))
        return found


@pytest.fixture
def rows() -> list[Entry]:
    """Rows of five submissions, the first one beginning a block."""
    version = SuiteVersionFactory(tasks=1)
    newest = Submission.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    first = newest + 1 if (newest + 1) % 2 == 0 else newest + 2
    return [measured(version, pk=pk) for pk in range(first, first + 5)]


def counted(count: Counting, *made_from: object) -> list[int]:
    return [pk for (pk,) in blocks.counted_in_blocks(published(), count, *made_from)]


def published() -> QuerySet[Entry]:
    return Entry.objects.filter(published=True)


def test_only_blocks_with_a_changed_row_are_counted_again(rows: list[Entry]) -> None:
    numbers, count = [row.submission_id for row in rows], Counting()
    assert counted(count) == numbers
    assert count.asked == [tuple(numbers[:2]), tuple(numbers[2:4]), tuple(numbers[4:])]
    with CaptureQueriesContext(connection) as queries:
        assert counted(count) == numbers
    assert len(queries) == 1
    assert len(count.asked) == 3
    assert recount_labels(numbers[2] or 0)
    assert counted(count) == numbers
    assert count.asked[3:] == [tuple(numbers[2:4])]
    Entry.objects.filter(pk=rows[4].pk).update(published=False)
    Entry.objects.filter(pk=rows[0].pk).update(published=False)
    assert counted(count) == numbers[1:4]
    assert count.asked[4:] == [(numbers[1],)]


def test_what_is_hidden_from_a_viewer_is_not_counted_and_only_its_block_is_counted_for_the_viewer(
    rows: list[Entry],
) -> None:
    numbers, count = [row.submission_id or 0 for row in rows], Counting()
    assert counted(count) == numbers
    for _ in range(2):
        found = blocks.counted_in_blocks(published(), count, hidden={numbers[2]})
        assert [pk for (pk,) in found] == [*numbers[:2], *numbers[3:]]
        assert counted(count) == numbers
    assert count.asked[3:] == [(numbers[3],)]


def test_a_new_process_reads_them_from_the_shared_cache(rows: list[Entry]) -> None:
    count = Counting()
    found = counted(count)
    blocks._COUNTED.clear()
    assert counted(count) == found
    assert len(count.asked) == 3
    blocks._COUNTED.clear()
    cache.clear()
    assert counted(count) == found
    assert len(count.asked) == 6


def test_other_columns_and_other_selections_are_counted_apart(rows: list[Entry]) -> None:
    count = Counting()
    counted(count, "tests")
    counted(count, "tests", "judge_1")
    assert len(count.asked) == 6
    some = Entry.objects.filter(published=True, pk__in=[row.pk for row in rows])
    blocks.counted_in_blocks(some, count, "tests")
    assert len(count.asked) == 9


def test_few_rows_are_not_kept(rows: list[Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LEAST_KEPT", 2)
    count = Counting()
    counted(count)
    counted(count)
    assert [len(block) for block in count.asked] == [2, 2, 1, 1]


def test_rows_that_change_places_are_noticed(rows: list[Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows appear and two are hidden; number and sum of the keys stay the same."""
    monkeypatch.setattr(blocks, "BLOCK", 100_000)
    first, second, third, fourth = (row.pk for row in rows[:4])
    assert first + fourth == second + third
    Entry.objects.filter(pk__in=[second, third]).update(published=False)
    count = Counting()
    assert counted(count) == [rows[place].submission_id for place in (0, 3, 4)]
    Entry.objects.filter(pk__in=[first, fourth]).update(published=False)
    Entry.objects.filter(pk__in=[second, third]).update(published=True)
    assert counted(count) == [rows[place].submission_id for place in (1, 2, 4)]


def test_a_row_that_was_hidden_for_a_while_is_counted_again(rows: list[Entry]) -> None:
    """What was decided meanwhile is no recount of the row, but each change of its visibility is."""
    submission, count = rows[0].submission, Counting()
    assert submission is not None
    counted(count)
    for visibility in (Visibility.HIDDEN, Visibility.PUBLISHED):
        Submission.objects.filter(pk=submission.pk).update(visibility=visibility)
        refresh_visibility(submission.pk)
    counted(count)
    assert count.asked[3:] == [(rows[0].submission_id, rows[1].submission_id)]
