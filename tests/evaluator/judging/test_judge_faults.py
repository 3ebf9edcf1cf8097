"""What goes wrong with providers, keys and this site while judging: it waits or is held, and is never a label."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from evaluator.enums import CallState, WorkState
from evaluator.judging import judgements
from evaluator.models import Judgement, ModelCall
from submissions.exceptions import NotAllowedError
from submissions.models import Endpoint
from tests.evaluator.judging.site import GOLDEN, WRONG, judge, judged, submission, verdict
from tests.provider_server.types import Answer, Failure
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_provider_s_faults_wait_and_then_hold(
    provider: ProviderServer, small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.providers.calling.FIRST_PAUSE_SECONDS", 0.0)
    provider.script("flaky", Failure("down", "Broken."))
    config = judge(provider, "flaky", votes=1, votes_when_split=1)
    judgements.plan_judgements(config=config, submission_id=submission(small_version, WRONG).pk)
    states = []
    for _ in range(4):
        row = judgements.judge_next()
        states.append(row and (row.state, row.infra_count))
    assert states == [(WorkState.QUEUED, 1), (WorkState.QUEUED, 2), (WorkState.HELD, 3), None]
    held = Judgement.objects.get()
    assert held.reason
    assert (held.label, held.abstained) == ("", False)
    with pytest.raises(NotAllowedError):
        judgements.retry_held(actor=UserFactory())
    provider.script("flaky", Answer(verdict("LI")))
    assert judgements.retry_held(actor=UserFactory(is_staff=True), config=config) == 1
    row = judgements.judge_next()
    assert row is not None
    assert (row.state, row.label, row.infra_count, row.reason) == (WorkState.DONE, "LI", 0, "")


def test_a_wrong_key_holds_at_once_and_says_so(provider: ProviderServer, small_version: SuiteVersion) -> None:
    (row,) = judged(small_version, judge(provider, "wrong-key"), WRONG)
    assert (row.state, row.label) == (WorkState.HELD, "")
    assert "key" in row.reason
    assert len(provider.asked) == 1


def test_a_judge_without_its_endpoint_is_held(provider: ProviderServer, small_version: SuiteVersion) -> None:
    config = judge(provider)
    Endpoint.objects.all().delete()
    config.refresh_from_db()
    (row,) = judged(small_version, config, WRONG)
    assert row.state == WorkState.HELD
    assert "endpoint was deleted" in row.reason


def test_a_judge_for_another_prompt_is_held(
    provider: ProviderServer, small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = judge(provider)
    monkeypatch.setattr("evaluator.judging.configs.PROMPT_HASH", "0" * 64)
    (row,) = judged(small_version, config, WRONG)
    assert row.state == WorkState.HELD
    assert "Make a new judge" in row.reason
    assert provider.asked == []


def test_an_answer_that_was_lost_twice_is_held_until_a_maintainer_allows_it_again(
    provider: ProviderServer, small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.providers.calling.FIRST_PAUSE_SECONDS", 0.0)
    (row,) = judged(small_version, judge(provider, "breaks", votes=1, votes_when_split=1), WRONG)
    assert row.state == WorkState.HELD
    assert len(provider.asked) == 2
    assert [call.state for call in ModelCall.objects.all()] == [CallState.IN_DOUBT] * 2
    assert judgements.retry_held(actor=UserFactory(is_staff=True), submission=row.implementation.submission) == 1
    assert [call.state for call in ModelCall.objects.all()] == [CallState.FAILED] * 2
    assert judgements.judge_next() is not None
    assert len(provider.asked) == 4


def test_an_endpoint_that_is_full_or_asked_to_wait_is_left_alone(
    provider: ProviderServer, small_version: SuiteVersion
) -> None:
    config = judge(provider, requests_at_once=1)
    judgements.plan_judgements(config=config, submission_id=submission(small_version, WRONG, GOLDEN).pk)
    first = Judgement.objects.order_by("pk")[0]
    Judgement.objects.filter(pk=first.pk).update(state=WorkState.RUNNING)
    assert judgements.judge_next() is None
    Judgement.objects.filter(pk=first.pk).update(state=WorkState.QUEUED)
    Endpoint.objects.update(not_before=timezone.now() + timedelta(minutes=1))
    assert judgements.judge_next() is None
    Endpoint.objects.update(not_before=timezone.now() - timedelta(minutes=1))
    assert judgements.judge_next() is not None


def test_a_provider_that_asks_to_wait_is_waited_for(provider: ProviderServer, small_version: SuiteVersion) -> None:
    provider.script("busy", Failure("busy", "Slow down.", headers={"Retry-After": "60"}))
    (row,) = judged(small_version, judge(provider, "busy"), WRONG)
    assert (row.state, row.infra_count) == (WorkState.QUEUED, 0)
    assert row.not_before is not None
    assert 50 < (row.not_before - timezone.now()).total_seconds() <= 60
    assert row.reason


def test_a_fault_of_ours_is_retried_and_then_held(
    provider: ProviderServer, small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(judgements, "_decide", breaks)
    (row,) = judged(small_version, judge(provider), WRONG)
    assert (row.state, row.infra_count, row.reason) == (WorkState.HELD, 3, "an infrastructure error of this site")
