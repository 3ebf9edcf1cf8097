"""Holding work by token and lease."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.utils import timezone

from evaluator.enums import WorkState
from evaluator.models import AnswerRequest
from evaluator.queue import leases
from tests.leaderboard.asked import asked
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.django_db


def one_request() -> AnswerRequest:
    return asked(UserFactory(), WorkState.QUEUED).requests.get()


def claimed(request: AnswerRequest) -> uuid.UUID:
    token = leases.claim(AnswerRequest, request.pk)
    assert token is not None
    return token


def state(request: AnswerRequest) -> tuple[str, bool, int, str]:
    request.refresh_from_db()
    return request.state, request.token is None, request.infra_count, request.reason


def test_work_is_claimed_once() -> None:
    request = one_request()
    token = claimed(request)
    assert leases.claim(AnswerRequest, request.pk) is None
    request.refresh_from_db()
    assert (request.state, request.token) == (WorkState.RUNNING, token)


@pytest.mark.parametrize(
    "act",
    [
        lambda pk, token: leases.extend(AnswerRequest, pk, token),
        lambda pk, token: leases.release(AnswerRequest, pk, token),
        lambda pk, token: leases.record_error(AnswerRequest, pk, token, reason="x", hold=True),
        lambda pk, token: leases.finish(AnswerRequest, pk, token, note="late"),
    ],
    ids=["extend", "release", "fault", "finish"],
)
def test_who_lost_the_token_changes_nothing(act: Callable[[int, uuid.UUID], object]) -> None:
    request = one_request()
    lost = claimed(request)
    AnswerRequest.objects.filter(pk=request.pk).update(token=uuid.uuid4())
    before = AnswerRequest.objects.values().get(pk=request.pk)
    assert not act(request.pk, lost)
    assert AnswerRequest.objects.values().get(pk=request.pk) == before


def test_faults_make_it_wait_longer_and_hold_it_the_third_time(settings: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, infra_retry_seconds=20)
    request = one_request()
    for count, held in ((1, False), (2, False), (3, True)):
        AnswerRequest.objects.filter(pk=request.pk).update(not_before=None)
        token = claimed(request)
        expected = WorkState.HELD if held else WorkState.QUEUED
        assert leases.record_error(AnswerRequest, request.pk, token, reason="the provider failed") == expected
        assert state(request) == (expected, True, count, "the provider failed")
        wait = (request.not_before - timezone.now()).total_seconds() if request.not_before else None
        assert wait is None if held else 20 * count - 5 < wait <= 20 * count


def test_what_waits_for_later_is_not_due() -> None:
    request = one_request()
    assert list(leases.due(AnswerRequest.objects.all())) == [request]
    token = claimed(request)
    assert leases.release(
        AnswerRequest, request.pk, token, reason="busy", not_before=timezone.now() + timedelta(hours=1)
    )
    assert list(leases.due(AnswerRequest.objects.all())) == []
    assert state(request) == (WorkState.QUEUED, True, 0, "busy")


def test_only_a_lease_that_ran_out_is_taken_away() -> None:
    fresh, late = asked(UserFactory(), WorkState.QUEUED, WorkState.QUEUED).requests.order_by("pk")
    claimed(fresh)
    claimed(late)
    AnswerRequest.objects.filter(pk=late.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert leases.expire(AnswerRequest) == [late.pk]
    assert (state(fresh)[0], state(late)[0]) == (WorkState.RUNNING, WorkState.QUEUED)


def test_what_kills_its_worker_three_times_is_held_and_waits_longer_before_each_try(settings: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, infra_retry_seconds=20)
    request = one_request()
    for count, expected in ((1, WorkState.QUEUED), (2, WorkState.QUEUED), (3, WorkState.HELD)):
        claimed(request)
        AnswerRequest.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert leases.expire(AnswerRequest) == [request.pk]
        assert state(request) == (expected, True, count, "its worker died or stopped renewing the lease")
        wait = (request.not_before - timezone.now()).total_seconds() if request.not_before else None
        assert wait is None if expected == WorkState.HELD else 20 * count - 5 < wait <= 20 * count


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_renews_and_notices_the_loss(settings: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, lease_seconds=0.3)
    request = one_request()
    token = claimed(request)
    with leases.heartbeat(AnswerRequest, request.pk, token) as keeper:
        time.sleep(0.6)
        assert leases.expire(AnswerRequest) == []
        assert not keeper.lost()
        AnswerRequest.objects.filter(pk=request.pk).update(state=WorkState.CANCELLED, token=None)
        deadline = time.monotonic() + 5
        while not keeper.lost() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert keeper.lost()


@pytest.mark.django_db(transaction=True)
def test_of_many_who_claim_at_once_one_wins() -> None:
    request = one_request()

    def take(_: int) -> bool:
        try:
            return leases.claim(AnswerRequest, request.pk) is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(take, range(16))) == [False] * 15 + [True]
