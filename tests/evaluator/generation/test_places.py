"""How many requests an endpoint gets at once, whatever they are for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from evaluator.enums import CallPurpose, CallState, WorkState
from evaluator.models import AnswerRequest, Judgement, ModelCall
from evaluator.queue import leases
from evaluator.queue.places import claim_within_limit, requests_under_way
from evaluator.sandbox.ownership import Owner
from submissions.models import Endpoint
from tests.leaderboard.asked import asked
from tests.leaderboard.judging import JudgeFactory
from tests.submissions.factories import UserFactory

pytestmark = pytest.mark.django_db

HERE = str(Owner.current())
DEAD = str(replace(Owner.current(), started=1))


@pytest.fixture
def endpoint() -> Endpoint:
    """Lends its key to a judge, who has one judgement to make, and to a run with one question."""
    generation = asked(UserFactory(), WorkState.QUEUED)
    endpoint = generation.endpoint
    assert endpoint is not None
    Endpoint.objects.filter(pk=endpoint.pk).update(requests_at_once=1)
    answer = generation.requests.get().implementation
    Judgement.objects.create(implementation=answer, config=JudgeFactory(endpoint=endpoint))
    return endpoint


def call(endpoint: Endpoint, *, sender: str) -> None:
    """A request on its way, for work that nobody holds any more."""
    ModelCall.objects.create(
        purpose=CallPurpose.JUDGE, key=uuid4().hex, token=uuid4(), sender=sender, endpoint=endpoint, request={}
    )


@pytest.mark.parametrize(("first", "second"), [(AnswerRequest, Judgement), (Judgement, AnswerRequest)])
def test_generations_and_judgements_share_an_endpoints_places(
    endpoint: Endpoint, first: type[AnswerRequest | Judgement], second: type[AnswerRequest | Judgement]
) -> None:
    token = claim_within_limit(first, first.objects.get().pk, endpoint_id=endpoint.pk)
    assert token is not None
    waiting = second.objects.get().pk
    assert claim_within_limit(second, waiting, endpoint_id=endpoint.pk) is None
    assert leases.finish(first, first.objects.get().pk, token)
    assert claim_within_limit(second, waiting, endpoint_id=endpoint.pk) is not None


def test_a_call_on_its_way_for_work_that_was_let_go_keeps_its_place(endpoint: Endpoint) -> None:
    request = AnswerRequest.objects.get().pk
    call(endpoint, sender=HERE)
    assert claim_within_limit(AnswerRequest, request, endpoint_id=endpoint.pk) is None
    ModelCall.objects.update(state=CallState.ANSWERED)
    assert claim_within_limit(AnswerRequest, request, endpoint_id=endpoint.pk) is not None


def test_a_call_whose_sender_is_dead_or_whose_time_is_over_keeps_none(endpoint: Endpoint) -> None:
    call(endpoint, sender=DEAD)
    assert requests_under_way(endpoint) == 0
    call(endpoint, sender=HERE)
    assert requests_under_way(endpoint) == 1
    ModelCall.objects.update(started=timezone.now() - timedelta(seconds=endpoint.request_seconds + 60))
    assert requests_under_way(endpoint) == 0


def test_a_call_for_work_that_is_held_counts_once(endpoint: Endpoint) -> None:
    token = claim_within_limit(Judgement, Judgement.objects.get().pk, endpoint_id=endpoint.pk)
    call(endpoint, sender=HERE)
    ModelCall.objects.update(token=token)
    assert requests_under_way(endpoint) == 1


def test_what_has_no_endpoint_has_no_limit(endpoint: Endpoint) -> None:
    """Its endpoint was deleted; whoever takes it says so."""
    assert claim_within_limit(Judgement, Judgement.objects.get().pk, endpoint_id=None) is not None
