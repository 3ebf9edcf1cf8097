"""Testing an endpoint: one small call, made by a worker, and the message for the endpoint's owner."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from evaluator.providers import checking_endpoints
from evaluator.providers.checking_endpoints import CHECKS_AN_HOUR, check, request_check
from evaluator.queue.pushing import MODELS, opened
from submissions.enums import EndpointCheck
from submissions.exceptions import QuotaExceededError
from submissions.models import Endpoint
from tests.evaluator.judging.site import endpoint

if TYPE_CHECKING:
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    cache.clear()


def run_check(made: Endpoint) -> tuple[str, str]:
    Endpoint.objects.filter(pk=made.pk).update(check_state=EndpointCheck.WAITING)
    check(made.pk)
    made.refresh_from_db()
    assert made.checked is not None
    return made.check_state, made.check_message


def test_a_test_makes_one_call_and_describes_the_reply(provider: ProviderServer) -> None:
    state, message = run_check(endpoint(provider, "prose"))
    assert state == EndpointCheck.OK
    assert re.fullmatch(
        r"It answered “[^”]+” after \d+\.\d s \(\d+ tokens in, \d+ out\)\. The reply names the model prose\.", message
    ), message
    assert len(provider.requests) == 1


@pytest.mark.parametrize("model", ["wrong-key", "breaks", "down-9"])
def test_a_test_that_fails_has_a_message_and_makes_one_call(provider: ProviderServer, model: str) -> None:
    state, message = run_check(endpoint(provider, model))
    assert state == EndpointCheck.FAILED
    assert message.endswith(".")
    assert len(provider.requests) == 1


@pytest.mark.parametrize(("model", "waits"), [("prose", False), ("down-9", True)])
def test_a_wait_for_the_provider_ends_when_it_answers(provider: ProviderServer, model: str, waits: bool) -> None:
    made = endpoint(provider, model, not_before=timezone.now() + timedelta(hours=9))
    run_check(made)
    assert (made.not_before is not None) is waits


def test_an_internal_address_is_not_called(provider: ProviderServer, settings: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_networks=[])
    refused = "Nothing was sent. This address is not allowed: it is not public. The operator of this site can allow it."
    assert run_check(endpoint(provider, "prose")) == (EndpointCheck.FAILED, refused)
    assert provider.log == []


def test_a_bug_does_not_leave_the_endpoint_waiting(provider: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    made = endpoint(provider, "prose", check_state=EndpointCheck.WAITING)

    def fail(_: Endpoint) -> Any:
        raise RuntimeError

    monkeypatch.setattr(checking_endpoints, "_try", fail)
    with pytest.raises(RuntimeError):
        check(made.pk)
    made.refresh_from_db()
    assert (made.check_state, made.check_message) == (
        EndpointCheck.FAILED, "An infrastructure error of this site stopped the test; try it again.",
    )  # fmt: skip


@pytest.mark.redis
def test_a_test_is_queued_for_a_worker(
    provider: ProviderServer, settings: Any, redis_url: str, django_capture_on_commit_callbacks: Any
) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url=redis_url).rq_queues
    made = endpoint(provider, "prose")
    with django_capture_on_commit_callbacks(execute=True):
        request_check(endpoint=made, actor=made.owner)
    assert made.check_state == EndpointCheck.WAITING
    with opened(MODELS) as queue:
        jobs = [(job.func_name, job.args) for job in queue.jobs]
    assert jobs == [("evaluator.jobs.check_endpoint", [made.pk])]


@pytest.mark.usefixtures("half_past_noon")
def test_the_tests_of_an_account_are_limited_per_hour(provider: ProviderServer) -> None:
    made = endpoint(provider, "prose")
    other = endpoint(provider, "prose")
    for _ in range(CHECKS_AN_HOUR):
        request_check(endpoint=made, actor=made.owner)
    Endpoint.objects.filter(pk=made.pk).update(check_state=EndpointCheck.OK)
    with pytest.raises(QuotaExceededError, match="20 times within this hour"):
        request_check(endpoint=made, actor=made.owner)
    made.refresh_from_db()
    assert made.check_state == EndpointCheck.OK
    request_check(endpoint=other, actor=other.owner)


def test_an_endpoint_changed_during_its_test_does_not_count_as_tested(provider: ProviderServer) -> None:
    made = endpoint(provider, "prose")
    check(made.pk)
    made.refresh_from_db()
    assert (made.check_state, made.checked, made.reports_usage) == (EndpointCheck.NONE, None, None)
    assert run_check(made)[0] == EndpointCheck.OK
    assert made.reports_usage is True


def test_without_a_queue_a_test_fails_with_the_reason(
    provider: ProviderServer, django_capture_on_commit_callbacks: Any
) -> None:
    made = endpoint(provider, "prose")
    with django_capture_on_commit_callbacks(execute=True):
        request_check(endpoint=made, actor=made.owner)
    made.refresh_from_db()
    assert made.check_state == EndpointCheck.FAILED
    assert made.check_message.startswith("The queue does not answer")
