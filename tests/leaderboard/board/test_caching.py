"""Cached rows of a page: only changed rows are read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from leaderboard.board.caching import fetched, kept_rows
from leaderboard.board.columns import DEFAULT_SORT, sorted_metrics
from leaderboard.board.entries import recompute_submission, refresh_visibility
from leaderboard.board.labels import recount_labels
from leaderboard.board.rows import board_metrics, board_rows
from leaderboard.models import BoardState, Entry, EntryMetric
from submissions.models import Submission, System
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured
from tests.submissions.factories import SubmissionFactory, SystemFactory

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.board.row import BoardRow

pytestmark = pytest.mark.django_db


@pytest.fixture
def entry() -> Entry:
    version = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1), tasks=2)
    measured(version, system=SystemFactory(name="Beta"))
    return measured(version, system=SystemFactory(name="Alpha"))


def kept(version: SuiteVersion) -> list[BoardRow]:
    state = BoardState.objects.filter(pk=version.pk).first() or BoardState(suite_version=version)
    return kept_rows(sorted_metrics(board_metrics(version), DEFAULT_SORT), state, None, version.pk)


def test_cached_rows_are_the_board_rows_in_their_order(entry: Entry) -> None:
    version = entry.suite_version
    rows = board_rows(sorted_metrics(board_metrics(version), DEFAULT_SORT), version, None)
    assert [row.system for row in rows] == ["Alpha", "Beta"]
    first, again = kept(version), kept(version)
    assert [row.model_copy(update={"stamp": ""}) for row in first] == rows
    assert again == first


def test_cached_rows_need_two_queries(entry: Entry, django_assert_num_queries: Callable[[int], object]) -> None:
    state = BoardState(suite_version=entry.suite_version)
    listed = sorted_metrics(board_metrics(entry.suite_version), DEFAULT_SORT)
    first = kept_rows(listed, state, None, "all")
    with django_assert_num_queries(2):  # type: ignore[attr-defined]
        assert [row.stamp for row in kept_rows(listed.all(), state, None, "all")] == [row.stamp for row in first]


def _rank(entry: Entry) -> None:
    EntryMetric.objects.filter(entry=entry).update(rank_from=1, rank_to=2)


def _publish_later(entry: Entry) -> None:
    Submission.objects.filter(entry=entry).update(published_at=timezone.now())
    refresh_visibility(entry.submission_id or 0)


def _another_submission(entry: Entry) -> None:
    SubmissionFactory(system=entry.system, suite_version=entry.suite_version)


def _rename(entry: Entry) -> None:
    type(entry.system).objects.filter(pk=entry.system_id).update(backbone="new")
    BoardState.objects.create(suite_version=entry.suite_version, surroundings=2)


CHANGES = {
    "ranks": (_rank, "rank"),
    "date": (_publish_later, "date"),
    "numbers": (lambda entry: recompute_submission(entry.submission_id or 0), "tests"),
    "unpublished": (_another_submission, "unpublished"),
    "names": (_rename, "backbone"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_row_is_read_again_and_the_other_is_not(entry: Entry, what: str) -> None:
    change, field = CHANGES[what]
    before = {row.system: row for row in kept(entry.suite_version)}
    change(entry)
    after = {row.system: row for row in kept(entry.suite_version)}
    assert getattr(after["Alpha"], field) != getattr(before["Alpha"], field)
    if what != "names":
        assert after["Beta"].stamp == before["Beta"].stamp


def test_recounting_labels_makes_a_new_row(entry: Entry) -> None:
    before = {row.system: row.stamp for row in kept(entry.suite_version)}
    assert recount_labels(entry.submission_id or 0)
    after = {row.system: row.stamp for row in kept(entry.suite_version)}
    assert (after["Alpha"] == before["Alpha"], after["Beta"] == before["Beta"]) == (False, True)


def test_a_renamed_system_is_sorted_by_its_new_name(
    entry: Entry, django_capture_on_commit_callbacks: Callable[..., object]
) -> None:
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        entry.system.name = "Gamma"
        entry.system.save()
    assert [row.system for row in kept(entry.suite_version)] == ["Beta", "Gamma"]


def test_fetched_values_are_read_again_and_only_the_query_is_cached(
    entry: Entry, django_assert_num_queries: Callable[[int], object]
) -> None:
    def systems(name: str) -> list[tuple[object, ...]]:
        found = System.objects.filter(name=name).order_by("pk")
        return fetched(lambda: found.values_list("backbone", "pk"), "systems", name)

    alpha = entry.system_id
    assert systems("Alpha") == [(entry.system.backbone, alpha)]
    System.objects.filter(pk=alpha).update(backbone="new")
    with django_assert_num_queries(1):  # type: ignore[attr-defined]
        assert systems("Alpha") == [("new", alpha)]
    assert systems("Gamma") == []
    with django_assert_num_queries(0):  # type: ignore[attr-defined]
        assert fetched(lambda: System.objects.none().values_list("pk"), "none") == []
