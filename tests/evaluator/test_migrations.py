"""Numbers that were stored before a migration and were wrong are mended by it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from evaluator.enums import CallPurpose, WorkState
from evaluator.models import ModelCall, Trajectory
from tests.leaderboard.asked import asked, called
from tests.submissions.factories import UserFactory


@pytest.mark.django_db(transaction=True)
def test_replies_without_usage_are_no_replies_of_0_tokens() -> None:
    run = asked(UserFactory(), WorkState.DONE, WorkState.DONE)
    known, unknown = run.requests.order_by("pk")
    called(known)
    called(unknown, input_tokens=0, output_tokens=0, dollars=Decimal(0))
    called(unknown, key="failed", state="failed", purpose=CallPurpose.ANSWER)
    usage = {"input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0, "seconds": 2.5}
    for request in (known, unknown):
        request.implementation.usage = usage
        request.implementation.save()
        Trajectory.objects.create(implementation=request.implementation, source="agent", input_tokens=0, dollars=0)
    before = ("evaluator", "0014_judges_name_their_parameters")
    executor: Any = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()  # of all apps: those that depend on this one went back, too
    try:
        executor.migrate([before])
    finally:
        MigrationExecutor(connection).migrate(newest)
    calls = ModelCall.objects.order_by("pk").values_list("input_tokens", "output_tokens", "dollars")
    assert list(calls) == [(1200, 300, Decimal("0.0048")), (None, None, None), (0, 0, None)]
    answers = [request.implementation for request in (known, unknown)]
    for answer in answers:
        answer.refresh_from_db()
    assert [answer.usage for answer in answers] == [usage, {"seconds": 2.5}]
    assert list(Trajectory.objects.order_by("pk").values_list("input_tokens", "dollars")) == [(0, 0), (None, None)]
