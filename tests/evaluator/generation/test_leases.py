"""Claiming work by token and lease, and the limit on an endpoint's concurrent requests, whatever their purpose."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from evaluator.enums import CallPurpose, CallState, WorkState
from evaluator.models import AnswerRequest, Judgement, ModelCall
from evaluator.queue import leases
from evaluator.queue.leases import claim_within_limit, requests_under_way
from evaluator.queue.processes import Owner
from submissions.models import Endpoint
from tests.evaluator.processes import wait_until
from tests.leaderboard.endpoint_runs import endpoint_run
from tests.leaderboard.judging import JudgeFactory
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def one_request() -> AnswerRequest:
    return endpoint_run(UserFactory(), WorkState.QUEUED).requests.get()


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
    ids=["extend", "release", "error", "finish"],
)
def test_a_claim_that_lost_its_token_changes_nothing(act: Callable[[int, uuid.UUID], object]) -> None:
    request = one_request()
    lost = claimed(request)
    AnswerRequest.objects.filter(pk=request.pk).update(token=uuid.uuid4())
    before = AnswerRequest.objects.values().get(pk=request.pk)
    assert not act(request.pk, lost)
    assert AnswerRequest.objects.values().get(pk=request.pk) == before


@pytest.mark.parametrize("killed", [False, True])
def test_errors_and_lost_leases_lengthen_the_wait_and_the_third_holds_the_work(settings: Any, killed: bool) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, infra_retry_seconds=20)
    request = one_request()
    reason = leases.LEASE_LOST if killed else "the provider failed"
    for count, held in ((1, False), (2, False), (3, True)):
        AnswerRequest.objects.filter(pk=request.pk).update(not_before=None)
        token = claimed(request)
        expected = WorkState.HELD if held else WorkState.QUEUED
        if killed:
            AnswerRequest.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
            assert leases.expire(AnswerRequest) == [request.pk]
        else:
            assert leases.record_error(AnswerRequest, request.pk, token, reason=reason) == expected
        assert state(request) == (expected, True, count, reason)
        wait = (request.not_before - timezone.now()).total_seconds() if request.not_before else None
        assert wait is None if held else 20 * count - 5 < wait <= 20 * count


def test_work_is_not_due_before_its_time() -> None:
    request = one_request()
    assert list(leases.due(AnswerRequest.objects.all())) == [request]
    token = claimed(request)
    assert leases.release(
        AnswerRequest, request.pk, token, reason="busy", not_before=timezone.now() + timedelta(hours=1)
    )
    assert list(leases.due(AnswerRequest.objects.all())) == []
    assert state(request) == (WorkState.QUEUED, True, 0, "busy")


def test_only_work_whose_lease_ran_out_is_queued_again() -> None:
    fresh, late = endpoint_run(UserFactory(), WorkState.QUEUED, WorkState.QUEUED).requests.order_by("pk")
    claimed(fresh)
    claimed(late)
    AnswerRequest.objects.filter(pk=late.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert leases.expire(AnswerRequest) == [late.pk]
    assert (state(fresh)[0], state(late)[0]) == (WorkState.RUNNING, WorkState.QUEUED)


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_renews_and_notices_the_loss(settings: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, lease_seconds=3)
    request = one_request()
    token = claimed(request)
    row = AnswerRequest.objects.filter(pk=request.pk)
    first = row.get().lease_until
    with leases.heartbeat(AnswerRequest, request.pk, token) as keeper:
        wait_until(lambda: row.get().lease_until != first, "the lease to be renewed")
        assert leases.expire(AnswerRequest) == []
        assert not keeper.lost()
        row.update(state=WorkState.CANCELLED, token=None)
        wait_until(keeper.lost, "the loss to be noticed")


@pytest.mark.django_db(transaction=True)
def test_one_of_many_simultaneous_claims_succeeds() -> None:
    request = one_request()

    def take(_: int) -> bool:
        try:
            return leases.claim(AnswerRequest, request.pk) is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(take, range(16))) == [False] * 15 + [True]


HERE = str(Owner.current())
DEAD = str(replace(Owner.current(), started=1))


@pytest.fixture
def endpoint() -> Endpoint:
    """Return an endpoint that a judge with one judgement and a run with one request use."""
    generation = endpoint_run(UserFactory(), WorkState.QUEUED)
    endpoint = generation.endpoint
    assert endpoint is not None
    Endpoint.objects.filter(pk=endpoint.pk).update(requests_at_once=1)
    answer = generation.requests.get().implementation
    Judgement.objects.create(implementation=answer, config=JudgeFactory(endpoint=endpoint))
    return endpoint


def call(endpoint: Endpoint, *, sender: str) -> None:
    """Store a request under way, for work that is no longer claimed."""
    ModelCall.objects.create(
        purpose=CallPurpose.JUDGE, key=uuid4().hex, token=uuid4(), sender=sender, endpoint=endpoint, request={}
    )


@pytest.mark.parametrize(("first", "second"), [(AnswerRequest, Judgement), (Judgement, AnswerRequest)])
def test_generations_and_judgements_share_an_endpoints_limit(
    endpoint: Endpoint, first: type[AnswerRequest | Judgement], second: type[AnswerRequest | Judgement]
) -> None:
    token = claim_within_limit(first, first.objects.get().pk, endpoint_id=endpoint.pk)
    assert token is not None
    waiting = second.objects.get().pk
    assert claim_within_limit(second, waiting, endpoint_id=endpoint.pk) is None
    assert leases.finish(first, first.objects.get().pk, token)
    assert claim_within_limit(second, waiting, endpoint_id=endpoint.pk) is not None


def test_a_call_under_way_counts_after_its_work_was_released(endpoint: Endpoint) -> None:
    request = AnswerRequest.objects.get().pk
    call(endpoint, sender=HERE)
    assert claim_within_limit(AnswerRequest, request, endpoint_id=endpoint.pk) is None
    ModelCall.objects.update(state=CallState.ANSWERED)
    assert claim_within_limit(AnswerRequest, request, endpoint_id=endpoint.pk) is not None


def test_a_call_of_a_dead_sender_or_past_its_time_does_not_count(endpoint: Endpoint) -> None:
    call(endpoint, sender=DEAD)
    assert requests_under_way(endpoint) == 0
    call(endpoint, sender=HERE)
    assert requests_under_way(endpoint) == 1
    ModelCall.objects.update(started=timezone.now() - timedelta(seconds=endpoint.request_seconds + 60))
    assert requests_under_way(endpoint) == 0


def test_a_call_for_claimed_work_counts_once(endpoint: Endpoint) -> None:
    token = claim_within_limit(Judgement, Judgement.objects.get().pk, endpoint_id=endpoint.pk)
    call(endpoint, sender=HERE)
    ModelCall.objects.update(token=token)
    assert requests_under_way(endpoint) == 1
