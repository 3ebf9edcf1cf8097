"""Summaries of suites: how many tasks they have, and whether they take answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import Suite, TaskRevision
from leaderboard.board.suites import summarised
from leaderboard.models import Entry
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory, TaskRevisionFactory
from tests.leaderboard.factories import reported

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.django_db


def test_a_summary_has_the_newest_version_s_tasks_and_whether_they_take_answers() -> None:
    paper, mini = SuiteFactory(title="LMR-BENCH", position=1), SuiteFactory(title="LMR-Mini", position=2)
    closed = [TaskRevisionFactory(task__suite=paper, not_runnable_reasons=["no code"]) for _ in range(3)]
    SuiteVersionFactory(suite=paper, number=1, revisions=closed[:1])
    reported(SuiteVersionFactory(suite=paper, number=2, revisions=closed))
    SuiteVersionFactory(suite=mini, revisions=[TaskRevisionFactory(task__suite=mini)])
    SuiteFactory(title="Empty", position=3)
    summaries = summarised(Suite.objects.all())
    texts = ["LMR-BENCH · 3 tasks · published", "LMR-Mini · 1 task · open", "Empty · 0 tasks · closed"]
    assert [each.text for each in summaries] == texts
    assert [each.suite for each in summaries][:2] == [paper, mini]


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ({"audit_state": AuditState.UNAUDITED}, "open"),
        ({"audit_state": AuditState.UNAUDITED, "audit": {"obstacle": "no sandbox works"}}, "closed"),
        ({"audit_state": AuditState.FAILED}, "closed"),
    ],
)
def test_a_suite_is_open_if_uploads_to_it_are_accepted(facts: dict[str, Any], state: str) -> None:
    suite = SuiteFactory(title="Small")
    SuiteVersionFactory(suite=suite, revisions=[TaskRevisionFactory(task__suite=suite, **facts)])
    assert [each.text for each in summarised([suite])] == [f"Small · 1 task · {state}"]


def test_hidden_rows_do_not_make_a_suite_published() -> None:
    entry = reported()
    TaskRevision.objects.update(not_runnable_reasons=["no code"])
    assert [each.state for each in summarised(Suite.objects.all())] == ["published"]
    Entry.objects.filter(pk=entry.pk).update(published=False)
    assert [each.state for each in summarised(Suite.objects.all())] == ["closed"]


def test_equal_titles_are_distinguished_by_their_short_names() -> None:
    SuiteFactory(slug="first", title="Same")
    SuiteFactory(slug="second", title="Same")
    assert [each.title for each in summarised(Suite.objects.all())] == ["Same (first)", "Same (second)"]


@pytest.mark.parametrize("number", [1, 4])
def test_queries_do_not_grow_with_suites(number: int, django_assert_num_queries: Callable[[int], Any]) -> None:
    for _ in range(number):
        suite = SuiteFactory()
        SuiteVersionFactory(suite=suite, revisions=[TaskRevisionFactory(task__suite=suite)])
    suites = list(Suite.objects.all())
    with django_assert_num_queries(3):
        assert len(summarised(suites)) == number
