"""Rows of one system that change on separate connections: exactly one represents the others, and nothing deadlocks."""

from __future__ import annotations

import pytest

from leaderboard.board.entries import recompute_submission
from leaderboard.models import Entry, EntryMetric
from tests.at_once import at_once
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.leaderboard.factories import measured
from tests.submissions.factories import SystemFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]

ROWS = 8


def test_one_of_several_rows_written_at_once_represents_the_others() -> None:
    version, system = SuiteVersionFactory(tasks=2), SystemFactory()
    sent = [measured(version, system=system, owner=system.owner).submission_id for _ in range(ROWS)]
    for _ in range(20):
        Entry.objects.all().delete()
        assert all(at_once(recompute_submission, sent))
        overall = EntryMetric.objects.filter(category=None).values_list("represents", flat=True)
        assert sorted(number for number in overall if number is not None) == [ROWS - 1]
