"""Rank bands of a board's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from benchmark_tasks.facts.categories import CATEGORIES
from leaderboard.board.entries import recompute_reported, refresh_visibility
from leaderboard.board.ranks import rank_outdated, rank_version
from leaderboard.board.states import note_change
from leaderboard.models import BoardState, EntryMetric
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import (
    CategoryFactory,
    PaperFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.leaderboard.factories import MetricFactory, ReportedResultFactory, measured, reported
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.models import Entry

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    """Ten tasks of ten papers, none in a category."""
    made: SuiteVersion = SuiteVersionFactory()
    for _ in range(10):
        paper = PaperFactory(suite=made.suite)
        made.revisions.add(TaskRevisionFactory(task=TaskFactory(suite=made.suite, paper=paper)))
    return made


def row(version: SuiteVersion, tests: Sequence[float | None], **facts: Any) -> Entry:
    known = [share for share in tests if share is not None]
    entry = measured(version, metric={"tasks": 10, "tests_passed": sum(known)}, **facts)
    entry.marks = {"tests": list(tests)}
    entry.save()
    return entry


def bands(version: SuiteVersion) -> dict[str, tuple[int | None, int | None]]:
    metrics = EntryMetric.objects.filter(entry__suite_version=version, category=None)
    return {
        name: (first, last) for name, first, last in metrics.values_list("entry__system__name", "rank_from", "rank_to")
    }


def test_ranked_rows_that_are_published_get_bands(version: SuiteVersion) -> None:
    row(version, [1.0] * 10, system=SystemFactory(name="Best"))
    row(version, [0.0] * 10, system=SystemFactory(name="Worst"))
    row(version, [1.0] * 10, system=SystemFactory(name="Private"), published=False)
    row(version, [1.0] * 10, system=SystemFactory(name="Sample"), kind=Kind.CALIBRATION)
    totals = reported(version, system=SystemFactory(name="Totals"), metric={"tasks": 10, "tests_passed": 9.0})
    assert totals.marks == {}
    note_change(version.pk, results=True)
    assert rank_version(version.pk)
    assert bands(version) == {
        "Best": (1, 1),
        "Worst": (2, 2),
        "Private": (None, None),
        "Sample": (None, None),
        "Totals": (None, None),
    }
    assert BoardState.objects.get(pk=version.pk).pass_rates == [0.5] * 10


def test_a_version_without_tasks_has_nothing_to_rank() -> None:
    """Found by the benchmark: the job failed here, and later boards got no ranks."""
    empty = SuiteVersionFactory()
    note_change(empty.pk, results=True)
    assert (rank_version(empty.pk), rank_outdated()) == (True, 0)
    assert BoardState.objects.get(pk=empty.pk).pass_rates == []


def test_only_changed_results_are_ranked_again(version: SuiteVersion) -> None:
    entry = row(version, [1.0] * 10)
    note_change(version.pk, results=True)
    assert (rank_outdated(), rank_outdated()) == (1, 0)
    note_change(version.pk)
    assert rank_outdated() == 0
    changed = BoardState.objects.get(pk=version.pk).changed
    Submission.objects.filter(entry=entry).update(visibility=Visibility.WITHDRAWN)
    note_change(version.pk, results=True)
    assert rank_outdated() == 1
    state = BoardState.objects.get(pk=version.pk)
    # Once for the changed results, once for the changed ranks.
    assert (state.changed, state.ranked) == (changed + 2, state.results)
    assert list(bands(version).values()) == [(None, None)]


def test_a_change_of_results_or_visibility_is_noted(
    version: SuiteVersion, django_capture_on_commit_callbacks: Any
) -> None:
    note_change(version.pk)
    before = BoardState.objects.get(pk=version.pk)
    entry = reported(version)
    assert entry.reported_run is not None
    ReportedResultFactory(run=entry.reported_run, task=version.revisions.first().task)
    with django_capture_on_commit_callbacks(execute=True):
        recompute_reported(entry.reported_run, version)
    sent = measured(version).submission
    assert sent is not None
    with django_capture_on_commit_callbacks(execute=True):
        refresh_visibility(sent.pk)
    after = BoardState.objects.get(pk=version.pk)
    assert (after.results - before.results, after.changed > before.changed) == (2, True)


def test_a_category_of_five_tasks_has_no_ranks(version: SuiteVersion) -> None:
    small, large = (CategoryFactory(slug=each.slug) for each in CATEGORIES[:2])
    ids = list(version.revisions.order_by("task__paper__folder_name").values_list("pk", flat=True))
    version.revisions.filter(pk__in=ids[:5]).update(category=small)
    version.revisions.filter(pk__in=ids[5:]).update(category=large)
    extra = TaskRevisionFactory(
        task=TaskFactory(suite=version.suite, paper=PaperFactory(suite=version.suite)), category=large
    )
    version.revisions.add(extra)
    for passed in (1.0, 0.0):
        entry = row(version, [passed] * 11)
        for category in (small, large):
            MetricFactory(entry=entry, category=category, tasks=5)
    note_change(version.pk, results=True)
    rank_version(version.pk)
    ranks = EntryMetric.objects.order_by("pk").values_list("category", "rank_from")
    assert [first for category, first in ranks if category == small.pk] == [None, None]
    assert [first for category, first in ranks if category == large.pk] == [1, 2]
